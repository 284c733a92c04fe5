"""Loads and runs verdict plug-ins, which label queries, users or documents.

A plug-in is an object that an installed package registers as an entry point:

    [project.entry-points."longeval_builder.verdicts"]
    my_adult_filter = "my_package.filters:adult"

A definition enables it by name: `verdicts.plugins = ["my_adult_filter"]`.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import polars as pl

from builder.errors import SchemaError, UsageError
from builder.plugins import load_plugin
from schemas import Verdicts


@runtime_checkable
class VerdictPlugin(Protocol):
    """Interface of verdict plug-ins, which assign labels to queries, users or documents.

    `kind` says what the plug-in labels; `name` and `version` are recorded with every verdict.
    """

    name: str
    version: str
    kind: Literal["query", "user", "document"]

    def judge(self, subjects: pl.DataFrame) -> pl.DataFrame:
        """Label each query, user or document of a batch independently.

        Args:
            subjects: Column `key`; for queries also `text`, `impressions`, `clicks`; for users also
                `impressions`, `queries`, `clicks`; for documents also `url`.

        Returns:
            One row per label: `key`, `label`, `score` (0 to 1). A subject may have any number of
            labels, including none.
        """


def load_plugins(names: Sequence[str]) -> tuple[VerdictPlugin, ...]:
    """Load installed verdict plug-ins by name.

    Raises:
        UsageError: a plug-in is not installed, or does not implement `VerdictPlugin`.
    """
    plugins: list[VerdictPlugin] = []
    for name in names:
        plugin = load_plugin("verdicts", name)
        if not isinstance(plugin, VerdictPlugin):
            raise UsageError(
                f"verdicts.plugins: expected {name!r} to have the attributes name, version, kind "
                f"and judge, found an object of type {type(plugin).__name__}"
            )
        plugins.append(plugin)
    return tuple(plugins)


def run_plugin(plugin: VerdictPlugin, subjects: pl.DataFrame) -> pl.DataFrame:
    """Run a plug-in on a batch of queries, users or documents, and validate the verdicts.

    Returns:
        Rows with the schema `Verdicts`, sorted.

    Raises:
        SchemaError: a column is missing, a label or score is invalid, or a key is not among
            `subjects`.
    """
    labels = plugin.judge(subjects)
    missing = {"key", "label", "score"} - set(labels.columns)
    if missing:
        raise SchemaError(
            f"plug-in {plugin.name}: expected the columns key, label, score; missing: "
            f"{', '.join(sorted(missing))}"
        )
    verdicts = labels.select(
        pl.lit(plugin.kind).alias("kind"),
        pl.col("key").cast(pl.UInt64),
        pl.col("label").cast(pl.String),
        pl.lit(plugin.name).alias("source"),
        pl.lit(plugin.version).alias("version"),
        pl.col("score").cast(pl.Float64),
    )
    _, failures = Verdicts.filter(verdicts)
    if len(failures):
        raise SchemaError(
            f"plug-in {plugin.name}: expected verdicts as described by `longeval schema verdicts`, "
            f"found rows that violate the rules {failures.counts()}"
        )
    unknown = verdicts.join(subjects, on="key", how="anti")
    if unknown.height:
        raise SchemaError(
            f"plug-in {plugin.name}: expected only verdicts on the keys that it received, found "
            f"{unknown.height} verdicts on other keys, such as {unknown['key'][0]:016x}"
        )
    return verdicts.sort(Verdicts.primary_key())
