"""Command group `longeval clicks`: runs or compares click models on a query log."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.cli.arguments import DefaultCommandGroup
from builder.cli.click_model_options import (
    Iterations,
    LastClick,
    LastClickRule,
    LogFile,
    NoClick,
    NoClickRule,
    Prior,
    PriorAlpha,
    PriorBeta,
    PriorKind,
    ResultPageGrouping,
    VoteUnit,
    create_click_model_parameters,
    read_log_parameters,
)
from builder.cli.options import (
    DefinitionFile,
    Format,
    Memory,
    OutputFormat,
    Quiet,
    limits_with_temporary_folder,
)
from builder.cli.output import escape_control_characters, format_table
from builder.reporting.numbers import pluralize
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.clicks import ModelComparison, ModelReport
    from builder.clicks.log_summary import LogSummary

clicks = typer.Typer(
    name="clicks",
    cls=DefaultCommandGroup,
    help="Run or compare click models on a query log.\n\n"
    "Without a subcommand, runs `longeval clicks run`.\n\n"
    "Example: longeval clicks log.jsonl.gz --model sdbn --out pairs.tsv",
    no_args_is_help=True,
)


@clicks.command("run")
def run_click_model(
    log: LogFile,
    out: Annotated[Path, typer.Option(help="Output file (.parquet or .tsv).")],
    model: Annotated[
        str,
        typer.Option(help="Click model; takes the same names as `clicks.model` in a definition."),
    ] = "sdbn",
    no_click: NoClick = NoClickRule.ALL_EXAMINED,
    prior: Prior = PriorKind.EMPIRICAL_BAYES,
    prior_alpha: PriorAlpha = 1.0,
    prior_beta: PriorBeta = 1.0,
    last: LastClick = LastClickRule.RANK,
    votes: Annotated[
        VoteUnit,
        typer.Option(help="Count every impression, or count each user once per query-URL pair."),
    ] = VoteUnit.IMPRESSION,
    pages: Annotated[
        ResultPageGrouping,
        typer.Option(
            help="Keep a user's result pages for the same query separate, or join them; to join "
            "them, the log must be sorted by time."
        ),
    ] = ResultPageGrouping.SEPARATE,
    iterations: Iterations = 50,
    memory: Memory = DEFAULT_MEMORY,
    definition: DefinitionFile = None,
    quiet: Quiet = False,
) -> None:
    """Run a click model on a query log and write an estimate for each query-URL pair.

    The section `[log]` of the file given by --definition describes the input format.

    Example: longeval clicks log.jsonl.gz --model sdbn --out pairs.tsv
    """
    from builder.clicks import estimate_from_log

    params = create_click_model_parameters(
        no_click=no_click,
        prior=prior,
        prior_alpha=prior_alpha,
        prior_beta=prior_beta,
        last=last,
        votes=votes,
        pages=pages,
        iterations=iterations,
    )
    with limits_with_temporary_folder(memory) as limits:
        report = estimate_from_log(
            log,
            model,
            out,
            params=params,
            limits=limits,
            log_params=read_log_parameters(definition),
        )
    if quiet:
        return
    _print_report(report, out)


def _print_report(report: "ModelReport", out: Path) -> None:
    """Print how many records were read and rejected, and how many query-URL pairs were written.

    Warn if no impression has a click.
    """
    _print_log_summary(report.log)
    typer.echo(
        f"wrote {report.pairs:,} pairs to {out}; {report.never_examined:,} of them were never "
        "examined and have no estimate"
    )
    if report.pairs and not report.clicks:
        typer.echo(
            "warning: found no clicks in the log; if it contains clicks, set [log.fields] and "
            "log.click_form in a definition file and pass the file with --definition",
            err=True,
        )


def _print_log_summary(log: "LogSummary") -> None:
    """Print how many records of a log were read, kept and rejected, and the notes on the log."""
    rejects = ", ".join(f"{reason} {n:,}" for reason, n in sorted(log.rejected.items()))
    kept = f"{pluralize(log.impressions, 'impression')} from {pluralize(log.records, 'record')}"
    typer.echo(f"{kept}; rejected: {rejects or 'none'}")
    for note in log.notes:
        typer.echo(f"note: {escape_control_characters(note)}")


@clicks.command("compare")
def compare_click_models(
    log: LogFile,
    test: Annotated[
        Path | None, typer.Option(help="Query log to test on; default: the last part of LOG.")
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="Fraction of LOG to hold out for testing, if --test is not given.")
    ] = 0.25,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Click model to compare; repeatable or comma-separated. Default: all models."
        ),
    ] = None,
    chosen_model: Annotated[
        str,
        typer.Option(
            "--chosen",
            help="Warn if this model predicts held-out clicks worse than the baseline, the "
            "click-through rate of each rank.",
        ),
    ] = "sdbn",
    by_rank: Annotated[
        bool, typer.Option("--by-rank", help="Also print the perplexity at each rank.")
    ] = False,
    no_click: NoClick = NoClickRule.ALL_EXAMINED,
    prior: Prior = PriorKind.EMPIRICAL_BAYES,
    prior_alpha: PriorAlpha = 1.0,
    prior_beta: PriorBeta = 1.0,
    last: LastClick = LastClickRule.RANK,
    iterations: Iterations = 50,
    memory: Memory = DEFAULT_MEMORY,
    definition: DefinitionFile = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Compare click models by how well they predict clicks on held-out impressions.

    The section `[log]` of the file given by --definition describes the input format.

    Example: longeval clicks compare log.jsonl.gz --held-out 0.25
    """
    from builder.clicks import DEFAULT_MODELS, compare_models
    from builder.clicks.standalone import check_model_name

    check_model_name(chosen_model)
    with limits_with_temporary_folder(memory) as limits:
        comparison = compare_models(
            log,
            tuple(model or DEFAULT_MODELS),
            test=test,
            held_out=held_out,
            params=create_click_model_parameters(
                no_click=no_click,
                prior=prior,
                prior_alpha=prior_alpha,
                prior_beta=prior_beta,
                last=last,
                iterations=iterations,
            ),
            limits=limits,
            log_params=read_log_parameters(definition),
        )
    if format is OutputFormat.JSON:
        typer.echo(json.dumps(asdict(comparison), ensure_ascii=False, indent=1, default=str))
    else:
        _print_comparison(comparison, by_rank=by_rank)
    if chosen_model in comparison.models_worse_than_baseline():
        typer.echo(
            f"warning: {chosen_model} predicts held-out clicks worse than the click-through rate "
            "by rank; do not derive grades from it",
            err=True,
        )


def _print_comparison(comparison: "ModelComparison", *, by_rank: bool) -> None:
    """Print one table of scores per scoring convention, with one row per click model.

    The conventions are `pyclick` and `per_rank`.

    Args:
        comparison: Scores of the click models.
        by_rank: Whether to print the perplexity at each rank as well.
    """
    for log in comparison.logs:
        _print_log_summary(log)
    typer.echo(
        f"trained on {comparison.train:,} impressions, tested on {comparison.test:,}; skipped "
        f"{comparison.unseen:,} test impressions of queries without training impressions"
    )
    for convention in ("pyclick", "per_rank"):
        scores = [(s.model, getattr(s, convention)) for s in comparison.scores]
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
        typer.echo(format_table(rows, ("model", "log-likelihood", "perplexity", "conditional")))
        if by_rank:
            ranks = [str(rank) for rank in range(1, len(scores[0][1].by_rank) + 1)]
            lines = [(name, *(f"{value:.4f}" for value in s.by_rank)) for name, s in scores]
            typer.echo(format_table(lines, ("perplexity by rank", *ranks)))
