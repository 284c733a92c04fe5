"""Command group `longeval translate`: `run`, `model check` and `model add`."""

import sys
from collections import Counter
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.arguments import DefaultCommandGroup
from builder.cli.help import CommandGroup
from builder.cli.json_output import print_json
from builder.cli.options import (
    Format,
    OutputFormat,
    Quiet,
    limits_with_temporary_folder,
    parse_options,
)
from builder.cli.output import format_table
from builder.reporting.numbers import pluralize
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.parameters import TranslationParameters
    from builder.runtime.limits import ResourceLimits
    from builder.translation.sentences import Translation

STANDARD_INPUT = Path("-")
Model = Annotated[
    Path, typer.Option(help="CTranslate2 model folder, or `embedded` for the bundled model.")
]
ComputeType = Annotated[str, typer.Option(help="CTranslate2 compute type, such as int8.")]


class InputKind(StrEnum):
    """Kind of text to translate."""

    TEXT = "text"
    QUERY = "query"


translate = typer.Typer(
    name="translate",
    cls=DefaultCommandGroup,
    help="Translate files from French to English, and check translation models.\n\n"
    "Without a subcommand, runs `longeval translate run`.\n\n"
    "Example: longeval translate notes.txt --out notes.en.txt",
    no_args_is_help=True,
)
model_group = typer.Typer(
    name="model",
    cls=CommandGroup,
    help="Check and add translation models.",
    no_args_is_help=True,
)
translate.add_typer(model_group)


@translate.command("run")
def run_translation(
    file: Annotated[
        Path,
        typer.Argument(
            help="Input file: UTF-8 text, or Parquet with --column; `-` reads standard input."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file, in the same format as the input; default: standard output."
        ),
    ] = None,
    model: Model = Path("embedded"),
    column: Annotated[str, typer.Option(help="Text column of a Parquet file.")] = "text",
    kind: Annotated[
        InputKind, typer.Option(help="Kind of the input: text, or one query per line.")
    ] = InputKind.TEXT,
    compute_type: ComputeType = "int8",
    beam_size: Annotated[int, typer.Option(min=1, help="Beam size; 1: greedy search.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Translate a file or standard input from French to English.

    Standard input is translated line by line, as the lines arrive.

    Example: longeval translate notes.txt --out notes.en.txt
    """
    from builder.parameters import TranslationParameters
    from builder.translation import translate_file

    params = parse_options(
        TranslationParameters, model=model, compute_type=compute_type, beam_size=beam_size
    )
    with limits_with_temporary_folder(DEFAULT_MEMORY) as limits:
        if file == STANDARD_INPUT:
            translations = _translate_standard_input(out, params, limits, kind)
        else:
            target = sys.stdout.buffer if out is None else out
            translations = translate_file(
                file, target, params, limits, column=column, kind=kind.value
            )
            sys.stdout.flush()
    if not quiet:
        _print_summary(translations, out)


def _translate_standard_input(
    out: Path | None, params: "TranslationParameters", limits: "ResourceLimits", kind: InputKind
) -> "list[Translation]":
    """Translate lines of standard input as they arrive, to `out` or else to standard output."""
    from builder.translation import translate_stream

    translations = []
    with nullcontext(sys.stdout.buffer) if out is None else out.open("wb") as target:
        for block in translate_stream(sys.stdin.buffer, params, limits, kind=kind.value):
            target.write(b"".join(f"{t.text}\n".encode() for t in block))
            target.flush()
            translations += block
    return translations


def _print_summary(translations: "list[Translation]", out: Path | None) -> None:
    """Print the numbers of texts and sentences, and the number of sentences with each quality flag.

    If `out` is None, print only the numbers for the quality flags, and print them to standard
    error, because standard output contains the translations.
    """
    flags = Counter(
        flag for t in translations for sentence in t.sentences for flag in sentence.flags
    )
    sentences = sum(len(t.sentences) for t in translations)
    if out is not None:
        texts = pluralize(len(translations), "text")
        typer.echo(f"wrote {out}: {texts}, {pluralize(sentences, 'sentence')}")
    if flags:
        typer.echo(format_table(sorted(flags.items()), ("flag", "sentences")), err=out is None)


@model_group.command("check")
def check_model(
    folder: Annotated[Path, typer.Argument(help="CTranslate2 model folder, or `embedded`.")],
    compute_type: ComputeType = "int8",
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Print the properties of a translation model and three sample translations.

    Example: longeval translate model check embedded
    """
    from builder.parameters import TranslationParameters
    from builder.translation import check_model as load_and_check

    params = TranslationParameters(model=folder, compute_type=compute_type)
    with limits_with_temporary_folder(DEFAULT_MEMORY) as limits:
        properties = load_and_check(params, limits)
    _print_model_properties(properties, format)


@model_group.command("add")
def add_model(
    folder: Annotated[
        Path,
        typer.Argument(help="Model folder (CTranslate2, OPUS-MT or NLLB), or its model.bin."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="New folder for the converted model; required if the model must be converted."
        ),
    ] = None,
    compute_type: ComputeType = "int8",
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Convert a translation model if needed, check it, and print the settings that select it.

    Example: longeval translate model add opus-mt-fr-en --out opus-fr-en
    """
    from builder.translation import add_model as convert_and_check

    with limits_with_temporary_folder(DEFAULT_MEMORY) as limits:
        properties = convert_and_check(folder, limits, out=out, compute_type=compute_type)
    _print_model_properties(properties, format)


def _print_model_properties(properties: dict[str, Any], output_format: OutputFormat) -> None:
    """Print a model's properties, the settings that select it, and sample translations."""
    if output_format is OutputFormat.JSON:
        print_json(properties)
        return
    examples = properties.pop("examples")
    section = properties.pop("definition", None)
    typer.echo(format_table(list(properties.items()), ("property", "value")))
    if section is not None:
        typer.echo(f"\nAdd to the collection definition:\n\n{section}")
    for source, english in examples.items():
        typer.echo(f"\n{source}\n  {english}")
