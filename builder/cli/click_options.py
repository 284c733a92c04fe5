"""Options of `longeval clicks run` and `compare`, and the parameters that they stand for."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.cli.options import parse_options

if TYPE_CHECKING:
    from builder.parameters import ClickParameters, LogParameters

LogFile = Annotated[Path, typer.Argument(help="Query log: JSON lines, Parquet, CSV or TSV.")]
Iterations = Annotated[
    int, typer.Option(min=1, help="Number of EM iterations, for models trained by EM.")
]


class NoClickRule(StrEnum):
    """How impressions without a click are handled."""

    ALL_EXAMINED = "all_examined"
    SKIP = "skip"


class PriorKind(StrEnum):
    """How the priors of attractiveness and satisfaction are chosen."""

    EMPIRICAL_BAYES = "empirical_bayes"
    BETA = "beta"


class LastClickRule(StrEnum):
    """How the last click of an impression is chosen."""

    RANK = "rank"
    TIME = "time"


class VoteUnit(StrEnum):
    """Unit that casts one vote for a clicked result: an impression or a user."""

    IMPRESSION = "impression"
    USER = "user"


class ResultPageRule(StrEnum):
    """How consecutive result pages of the same query are combined."""

    SEPARATE = "separate"
    JOINED = "joined"


NoClick = Annotated[
    NoClickRule,
    typer.Option(help="Impressions without a click: count all results as examined, or skip."),
]
Prior = Annotated[PriorKind, typer.Option(help="Prior: fitted to the log, or a fixed beta prior.")]
PriorAlpha = Annotated[float, typer.Option(help="Pseudo-clicks of --prior beta.")]
PriorBeta = Annotated[float, typer.Option(help="Pseudo-skips of --prior beta.")]
LastClick = Annotated[
    LastClickRule,
    typer.Option(help="Last click of an impression: the deepest in rank, or the latest."),
]


def read_log_parameters(definition: Path | None) -> "LogParameters":
    """Return section `[log]` of a definition file, or the defaults if no file is given."""
    from builder.clicks.log import STANDALONE, standalone_parameters
    from builder.definition.files import read_section
    from builder.parameters import LogParameters

    if definition is None:
        return STANDALONE
    return standalone_parameters(read_section(definition, LogParameters, "log"))


def create_click_parameters(**options: StrEnum | float) -> "ClickParameters":
    """Create the parameters of a click model from command-line options."""
    from builder.parameters import ClickParameters

    return parse_options(ClickParameters, **options)
