"""Verbs about click models: `clicks`, which runs one on a log, and `clicks compare`."""

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.cli.arguments import DefaultGroup
from builder.cli.options import (
    Definition,
    Format,
    Memory,
    PlainFormat,
    Quiet,
    from_options,
    working_limits,
)
from builder.cli.output import printable, table
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.clicks import Comparison
    from builder.parameters import ClickParameters, LogParameters

LogFile = Annotated[Path, typer.Argument(help="Query log of any format that [log] reads.")]
Iterations = Annotated[int, typer.Option(min=1, help="Steps of EM models.")]


class NoClick(StrEnum):
    """What an impression without a click says."""

    ALL_EXAMINED = "all_examined"
    SKIP = "skip"


class Prior(StrEnum):
    """Priors of attractiveness and satisfaction."""

    EMPIRICAL_BAYES = "empirical_bayes"
    BETA = "beta"


class Last(StrEnum):
    """Which click was the last one."""

    RANK = "rank"
    TIME = "time"


class Votes(StrEnum):
    """Who votes on a result."""

    IMPRESSION = "impression"
    USER = "user"


class PagesRule(StrEnum):
    """How several pages of results count."""

    SEPARATE = "separate"
    JOINED = "joined"


NoClickRule = Annotated[NoClick, typer.Option(help="Impressions without a click.")]
PriorKind = Annotated[Prior, typer.Option(help="Fitted to the log, or beta.")]
PriorAlpha = Annotated[float, typer.Option(help="Pseudo-clicks under --prior beta.")]
LastRule = Annotated[Last, typer.Option(help="The last click: the deepest, or the latest.")]
PriorBeta = Annotated[float, typer.Option(help="Pseudo-skips under --prior beta.")]


clicks = typer.Typer(
    name="clicks",
    cls=DefaultGroup,
    help="Run a click model on a log alone, or compare models on held-out pages.\n\n"
    "Example: longeval clicks log.jsonl.gz --model sdbn --out pairs.tsv",
    no_args_is_help=True,
)


@clicks.command("run")
def run_model(
    log: LogFile,
    out: Annotated[Path, typer.Option(help="Result: .parquet or .tsv.")],
    model: Annotated[str, typer.Option(help="Click model.")] = "sdbn",
    no_click: NoClickRule = NoClick.ALL_EXAMINED,
    prior: PriorKind = Prior.EMPIRICAL_BAYES,
    prior_alpha: PriorAlpha = 1.0,
    prior_beta: PriorBeta = 1.0,
    last: LastRule = Last.RANK,
    votes: Annotated[
        Votes, typer.Option(help="Every impression, or each user once per query and result.")
    ] = Votes.IMPRESSION,
    pages: Annotated[
        PagesRule, typer.Option(help="Join a user's next pages of the same query.")
    ] = PagesRule.SEPARATE,
    iterations: Iterations = 50,
    memory: Memory = DEFAULT_MEMORY,
    definition: Definition = None,
    quiet: Quiet = False,
) -> None:
    """Run a click model on a log alone; the word `run` may be left out.

    `[log]` of --definition says how the log is read.

    Example: longeval clicks log.jsonl.gz --model sdbn --out pairs.tsv
    """
    from builder.clicks import model_log

    params = _parameters(
        no_click=no_click,
        prior=prior,
        prior_alpha=prior_alpha,
        prior_beta=prior_beta,
        last=last,
        votes=votes,
        pages=pages,
        iterations=iterations,
    )
    with working_limits(memory) as limits:
        report = model_log(
            log,
            model,
            out,
            params=params,
            limits=limits,
            log_params=_reading(definition),
        )
    if quiet:
        return
    dropped = ", ".join(f"{why} {n:,}" for why, n in sorted(report.log.rejected.items()))
    typer.echo(f"{report.log.impressions:,} impressions; rejected: {dropped or 'none'}")
    for note in report.log.notes:
        typer.echo(f"note: {printable(note)}")
    typer.echo(
        f"wrote {report.pairs:,} pairs to {out}; {report.never_examined:,} were never examined "
        "and have no estimate"
    )
    if report.pairs and not report.clicks:
        typer.echo(
            "no result was clicked: [log.fields] of a definition names what tells clicks, "
            "log.click_form how",
            err=True,
        )


@clicks.command("compare")
def compare(
    log: LogFile,
    test: Annotated[Path | None, typer.Option(help="Log to test on.")] = None,
    held_out: Annotated[
        float, typer.Option(help="Without --test: last part of the log, to test on.")
    ] = 0.25,
    model: Annotated[
        list[str] | None, typer.Option(help="Models to compare; repeat it. Absent: all.")
    ] = None,
    chosen: Annotated[str, typer.Option(help="Warn when this one loses to clicks by rank.")] = (
        "sdbn"
    ),
    by_rank: Annotated[bool, typer.Option("--by-rank", help="Perplexity of every rank.")] = False,
    no_click: NoClickRule = NoClick.ALL_EXAMINED,
    prior: PriorKind = Prior.EMPIRICAL_BAYES,
    prior_alpha: PriorAlpha = 1.0,
    prior_beta: PriorBeta = 1.0,
    last: LastRule = Last.RANK,
    iterations: Iterations = 50,
    memory: Memory = DEFAULT_MEMORY,
    definition: Definition = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare how well click models predict held-out pages.

    `[log]` of --definition says how the logs are read.

    Example: longeval clicks compare log.jsonl.gz --held-out 0.25
    """
    from builder.clicks import DEFAULT_MODELS, compare_models

    with working_limits(memory) as limits:
        found = compare_models(
            log,
            tuple(model or DEFAULT_MODELS),
            test=test,
            held_out=held_out,
            params=_parameters(
                no_click=no_click,
                prior=prior,
                prior_alpha=prior_alpha,
                prior_beta=prior_beta,
                last=last,
                iterations=iterations,
            ),
            limits=limits,
            log_params=_reading(definition),
        )
    if format is PlainFormat.JSON:
        typer.echo(json.dumps(asdict(found), ensure_ascii=False, indent=1, default=str))
    else:
        _print_comparison(found, by_rank=by_rank)
    if chosen in found.worse_than_baseline():
        typer.echo(
            f"warning: {chosen} predicts the held-out pages worse than clicks by rank alone; "
            "grades from it follow the model more than the users",
            err=True,
        )


def _print_comparison(found: "Comparison", *, by_rank: bool) -> None:
    typer.echo(
        f"trained on {found.train:,} impressions, tested on {found.test:,}; {found.unseen:,} test "
        "impressions have a query that was not trained on"
    )
    for convention in ("pyclick", "per_rank"):
        scores = [(s.model, getattr(s, convention)) for s in found.scores]
        rows = [
            (
                name,
                *(
                    f"{value:.6f}"
                    for value in (s.log_likelihood, s.perplexity, s.conditional_perplexity)
                ),
            )
            for name, s in scores
        ]
        typer.echo(f"\nconvention {convention}")
        typer.echo(table(rows, ("model", "log-likelihood", "perplexity", "conditional")))
        if by_rank:
            ranks = [str(rank) for rank in range(1, len(scores[0][1].by_rank) + 1)]
            lines = [(name, *(f"{value:.4f}" for value in s.by_rank)) for name, s in scores]
            typer.echo(table(lines, ("perplexity by rank", *ranks)))


def _reading(definition: Path | None) -> "LogParameters":
    """How a log is read: as a definition says, or as it stands."""
    from builder.clicks.log import STANDALONE, standalone_parameters
    from builder.definition.files import read_section
    from builder.parameters import LogParameters

    if definition is None:
        return STANDALONE
    return standalone_parameters(read_section(definition, LogParameters, "log"))


def _parameters(**values: StrEnum | float) -> "ClickParameters":
    from builder.parameters import ClickParameters

    return from_options(ClickParameters, **values)
