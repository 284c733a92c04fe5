"""Verbs of translation: `translate`, and `translate model check`."""

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from builder.cli.arguments import DefaultGroup
from builder.cli.options import Format, PlainFormat, Quiet, from_options, working_limits
from builder.cli.output import table
from builder.cli.shapes import say_json

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
model_verbs = typer.Typer(name="model", help="Look at translation models.", no_args_is_help=True)
translate.add_typer(model_verbs)


@translate.command("run")
def run(
    file: Annotated[Path, typer.Argument(help="Text (UTF-8), or Parquet with --column.")],
    out: Annotated[Path, typer.Option(help="Result, of the same kind.")],
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

    Example: longeval translate notes.txt --out notes.en.txt
    """
    from builder.parameters import TranslateParameters
    from builder.translation import translate_file

    params = from_options(
        TranslateParameters, model=model, compute_type=compute_type, beam_size=beam_size
    )
    with working_limits("4GiB") as limits:
        found = translate_file(file, out, params, limits, column=column, kind=kind.value)
    if quiet:
        return
    flags = Counter(flag for t in found for sentence in t.sentences for flag in sentence.flags)
    sentences = sum(len(t.sentences) for t in found)
    typer.echo(f"wrote {out}: {len(found):,} texts, {sentences:,} sentences")
    if flags:
        typer.echo(table(sorted(flags.items()), ("flag", "sentences")))


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

    with working_limits("4GiB") as limits:
        found = check_model(TranslateParameters(model=folder, compute_type=compute_type), limits)
    if format is PlainFormat.JSON:
        say_json(found)
        return
    examples = found.pop("examples")
    typer.echo(table(list(found.items()), ("property", "value")))
    for source, english in examples.items():
        typer.echo(f"\n{source}\n  {english}")
