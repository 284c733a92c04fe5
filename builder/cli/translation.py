"""Verbs of translation: `translate`, `translate model check` and `translate model add`."""

import sys
from collections import Counter
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.arguments import DefaultGroup
from builder.cli.options import Format, PlainFormat, Quiet, from_options, working_limits
from builder.cli.output import table
from builder.cli.shapes import say_json
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.parameters import TranslateParameters
    from builder.runtime.limits import Limits
    from builder.translation.sentences import Translation

STANDARD_INPUT = Path("-")
Model = Annotated[
    Path, typer.Option(help="CTranslate2 model folder, or `embedded` for the shipped one.")
]


class Kind(StrEnum):
    """What a line is."""

    TEXT = "text"
    QUERY = "query"


translate = typer.Typer(
    name="translate",
    cls=DefaultGroup,
    help="Translate a file from French to English, or look at a model.\n\n"
    "Example: longeval translate notes.txt --out notes.en.txt",
    no_args_is_help=True,
)
model_verbs = typer.Typer(name="model", help="Check translation models.", no_args_is_help=True)
translate.add_typer(model_verbs)


@translate.command("run")
def run(
    file: Annotated[
        Path,
        typer.Argument(help="Text (UTF-8), Parquet with --column, or `-` for standard input."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Result, of the same kind; default: standard output.")
    ] = None,
    model: Model = Path("embedded"),
    column: Annotated[str, typer.Option(help="Column of a Parquet file.")] = "text",
    kind: Annotated[
        Kind, typer.Option(help="Text of sentences, or one query on each line.")
    ] = Kind.TEXT,
    compute_type: Annotated[str, typer.Option(help="CTranslate2 compute type.")] = "int8",
    beam_size: Annotated[int, typer.Option(min=1, help="Beam width; 1 is greedy.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Translate a file; the word `run` may be left out.

    Standard input is translated line by line, as the lines arrive.

    Example: longeval translate notes.txt --out notes.en.txt
    """
    from builder.parameters import TranslateParameters
    from builder.translation import translate_file

    params = from_options(
        TranslateParameters, model=model, compute_type=compute_type, beam_size=beam_size
    )
    with working_limits(DEFAULT_MEMORY) as limits:
        if file == STANDARD_INPUT:
            found = _filter(out, params, limits, kind)
        else:
            target = sys.stdout.buffer if out is None else out
            found = translate_file(file, target, params, limits, column=column, kind=kind.value)
            sys.stdout.flush()
    if not quiet:
        _summary(found, out)


def _filter(
    out: Path | None, params: "TranslateParameters", limits: "Limits", kind: Kind
) -> "list[Translation]":
    """Translate standard input into a file or to standard output, flushed after each block."""
    from builder.translation import translate_stream

    found = []
    with nullcontext(sys.stdout.buffer) if out is None else out.open("wb") as target:
        for block in translate_stream(sys.stdin.buffer, params, limits, kind=kind.value):
            target.write(b"".join(f"{t.text}\n".encode() for t in block))
            target.flush()
            found += block
    return found


def _summary(found: "list[Translation]", out: Path | None) -> None:
    """What was translated and what is doubtful about it; beside the result, not in it."""
    flags = Counter(flag for t in found for sentence in t.sentences for flag in sentence.flags)
    sentences = sum(len(t.sentences) for t in found)
    aside = out is None
    if not aside:
        typer.echo(f"wrote {out}: {len(found):,} texts, {sentences:,} sentences")
    if flags:
        typer.echo(table(sorted(flags.items()), ("flag", "sentences")), err=aside)


@model_verbs.command("check")
def check(
    folder: Annotated[Path, typer.Argument(help="CTranslate2 model folder, or `embedded`.")],
    compute_type: Annotated[str, typer.Option(help="CTranslate2 compute type.")] = "int8",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Say what a model is, and translate three sentences with it.

    Example: longeval translate model check embedded
    """
    from builder.parameters import TranslateParameters
    from builder.translation import check_model

    with working_limits(DEFAULT_MEMORY) as limits:
        found = check_model(TranslateParameters(model=folder, compute_type=compute_type), limits)
    _report(found, format)


@model_verbs.command("add")
def add(
    folder: Annotated[
        Path, typer.Argument(help="CTranslate2, OPUS-MT (Marian) or NLLB folder, or a model.bin.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="New folder for the model if it must be converted.")
    ] = None,
    compute_type: Annotated[str, typer.Option(help="CTranslate2 compute type.")] = "int8",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Check a model of your own, convert it if necessary, and print how a definition names it.

    Example: longeval translate model add opus-mt-fr-en --out opus-fr-en
    """
    from builder.translation import add_model

    with working_limits(DEFAULT_MEMORY) as limits:
        found = add_model(folder, limits, out=out, compute_type=compute_type)
    _report(found, format)


def _report(found: dict[str, Any], format_: PlainFormat) -> None:
    """Print the properties of a model, the definition that uses it, and its examples."""
    if format_ is PlainFormat.JSON:
        say_json(found)
        return
    examples = found.pop("examples")
    section = found.pop("definition", None)
    typer.echo(table(list(found.items()), ("property", "value")))
    if section is not None:
        typer.echo(f"\nIn the definition of a collection:\n\n{section}")
    for source, english in examples.items():
        typer.echo(f"\n{source}\n  {english}")
