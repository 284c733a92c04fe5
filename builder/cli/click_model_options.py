"""Options of `longeval clicks run` and `clicks compare`, converted to click model parameters."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.cli.options import parse_options

if TYPE_CHECKING:
    from builder.parameters import ClickParameters, LogParameters

LogFile = Annotated[Path, typer.Argument(help="Query log: JSON Lines, Parquet, CSV or TSV.")]
Iterations = Annotated[
    int, typer.Option(min=1, help="Number of EM iterations, for models trained by EM.")
]


class NoClickRule(StrEnum):
    """How to treat an impression without clicks.

    Either all its results count as examined, or the impression is skipped.
    """

    ALL_EXAMINED = "all_examined"
    SKIP = "skip"


class PriorKind(StrEnum):
    """Prior on attractiveness and satisfaction: fitted to the log, or a fixed beta prior."""

    EMPIRICAL_BAYES = "empirical_bayes"
    BETA = "beta"


class LastClickRule(StrEnum):
    """Whether the last click of an impression is the one at the deepest rank or the latest one."""

    RANK = "rank"
    TIME = "time"


class VoteUnit(StrEnum):
    """Whether every impression counts, or every user counts once per query-URL pair."""

    IMPRESSION = "impression"
    USER = "user"


class ResultPageGrouping(StrEnum):
    """Whether a user's consecutive result pages for the same query are kept separate or joined."""

    SEPARATE = "separate"
    JOINED = "joined"


NoClick = Annotated[
    NoClickRule,
    typer.Option(
        help="How to treat impressions without clicks: count all results as examined, or skip the "
        "impression."
    ),
]
Prior = Annotated[
    PriorKind,
    typer.Option(help="Prior on the estimates: fitted to the log, or a fixed beta prior."),
]
PriorAlpha = Annotated[float, typer.Option(help="Number of pseudo-clicks, for --prior beta.")]
PriorBeta = Annotated[
    float,
    typer.Option(help="Number of pseudo-skips (examinations without a click), for --prior beta."),
]
LastClick = Annotated[
    LastClickRule,
    typer.Option(
        help="Which click of an impression counts as the last: the one at the deepest rank, or the "
        "latest in time."
    ),
]


def read_log_parameters(definition: Path | None) -> "LogParameters":
    """Return the `[log]` section of a definition file, or the defaults if no file is given."""
    from builder.clicks.log import STANDALONE, standalone_log_parameters
    from builder.definition.files import read_section
    from builder.parameters import LogParameters

    if definition is None:
        return STANDALONE
    return standalone_log_parameters(read_section(definition, LogParameters, "log"))


def create_click_model_parameters(**options: StrEnum | float) -> "ClickParameters":
    """Create the parameters of a click model from command-line options."""
    from builder.parameters import ClickParameters

    return parse_options(ClickParameters, **options)
