"""Plug-ins that judge queries, users or documents: what one looks like, and how it is found.

A plug-in is an object in an installed package that names it as an entry point:

    [project.entry-points."longeval_builder.verdicts"]
    my_adult_filter = "my_package.filters:adult"

A definition asks for it by that name (`verdicts.plugins = ["my_adult_filter"]`).
"""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import polars as pl

from builder.errors import ContractError, UsageError
from builder.plugins import load_plugin
from schemas import Verdicts


@runtime_checkable
class VerdictPlugin(Protocol):
    """What a plug-in has: a name, a version, what it judges, and `judge`."""

    name: str
    version: str
    kind: Literal["query", "user", "document"]

    def judge(self, subjects: pl.DataFrame) -> pl.DataFrame:
        """Judge some subjects; the answer may depend on each subject alone.

        Args:
            subjects: `key` and, for queries `text`, `impressions`, `clicks`; for users
                `impressions`, `queries`, `clicks`; for documents `url`.

        Returns:
            Columns `key`, `label`, `score` (0 to 1); no row for a subject without a verdict.
        """


def load_plugins(names: Sequence[str]) -> tuple[VerdictPlugin, ...]:
    """The installed plug-ins of these names.

    Raises:
        UsageError: a plug-in is not installed, or is not one.
    """
    plugins: list[VerdictPlugin] = []
    for name in names:
        plugin = load_plugin("verdicts", name)
        if not isinstance(plugin, VerdictPlugin):
            raise UsageError(
                f"verdicts.plugins: {name!r} is not a verdict plug-in; it needs name, version, "
                f"kind and judge, found {type(plugin).__name__}"
            )
        plugins.append(plugin)
    return tuple(plugins)


def ask(plugin: VerdictPlugin, subjects: pl.DataFrame) -> pl.DataFrame:
    """The verdicts of a plug-in on some subjects, checked against the contract.

    Raises:
        ContractError: columns are missing, a score or label is not one, or a key was not asked.
    """
    answer = plugin.judge(subjects)
    missing = {"key", "label", "score"} - set(answer.columns)
    if missing:
        raise ContractError(
            f"plug-in {plugin.name}: expected columns key, label, score; missing {sorted(missing)}"
        )
    verdicts = answer.select(
        pl.lit(plugin.kind).alias("kind"),
        pl.col("key").cast(pl.UInt64),
        pl.col("label").cast(pl.String),
        pl.lit(plugin.name).alias("source"),
        pl.lit(plugin.version).alias("version"),
        pl.col("score").cast(pl.Float64),
    )
    _, failures = Verdicts.filter(verdicts)
    if len(failures):
        raise ContractError(f"plug-in {plugin.name}: answers break the rules {failures.counts()}")
    strangers = verdicts.join(subjects, on="key", how="anti")
    if strangers.height:
        raise ContractError(
            f"plug-in {plugin.name}: {strangers.height} verdicts on keys that it was not asked "
            f"about, such as {strangers['key'][0]:016x}"
        )
    return verdicts.sort(Verdicts.primary_key())
