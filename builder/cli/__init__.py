"""The command `longeval`: parses arguments, calls one public function and prints the result.

Exit codes: 0 success, 1 invalid data or a failed stage, 2 invalid usage or definition,
130 interrupted, 143 terminated.
"""

import signal
import sys
import threading
from collections.abc import Sequence
from typing import Annotated

import typer

from builder import __version__
from builder.cli import (
    analysis,
    baseline,
    build,
    classification,
    clicks,
    collection,
    evaluation,
    explore,
    filtering,
    judging,
    queries,
    release,
    runs,
    simulate,
    start,
    summarization,
    translation,
    trends,
)
from builder.cli.arguments import expand_arguments
from builder.cli.help import SectionedCommandGroup
from builder.cli.output import escape_control_characters, escape_unencodable_characters
from builder.errors import LongEvalError, UsageError
from builder.io.disk import to_user_error

NEWLINE = "\n"

app = typer.Typer(
    name="longeval",
    cls=SectionedCommandGroup,
    help="Build, validate and analyze longitudinal test collections for information retrieval.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (
    start,
    simulate,
    build,
    collection,
    release,
    analysis,
    evaluation,
    baseline,
    runs,
    explore,
    filtering,
    judging,
    summarization,
):
    for command in module.COMMANDS:
        app.command(command.__name__.rstrip("_"))(command)
for group in (
    queries.topics,
    queries.queries,
    clicks.clicks,
    judging.assess,
    translation.translate,
    runs.runs,
    trends.trend,
    classification.classification,
):
    app.add_typer(group)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"longeval-builder {__version__}")
        raise typer.Exit


@app.callback()
def longeval(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print tracebacks of errors.")] = False,
) -> None:
    """Build, validate and analyze longitudinal test collections for information retrieval."""


class _SignalHandler:
    """Signal handler that raises KeyboardInterrupt and records the signal number.

    The number is recorded because an interrupted database query can raise an error other than
    KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.received_signal = 0

    def __call__(self, signal_number: int, _: object) -> None:
        self.received_signal = signal_number
        raise KeyboardInterrupt

    def install(self) -> None:
        """Install the handler for SIGINT and SIGTERM; do nothing outside the main thread."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self)


def main(arguments: list[str] | None = None) -> None:
    """Run `longeval` with the given arguments (default: `sys.argv[1:]`) and exit."""
    arguments = sys.argv[1:] if arguments is None else arguments
    handler = _SignalHandler()
    try:
        handler.install()
        for stream in (sys.stdout, sys.stderr):
            escape_unencodable_characters(stream)
        app(args=expand_arguments(arguments), prog_name="longeval")
    except BaseException as error:
        exit_code = _report_error(error, handler, arguments, debug="--debug" in arguments)
        if exit_code is None:
            raise
    # The exception is freed here: errors of Pydantic keep frames alive in a way that the garbage
    # collector cannot detect, so a local variable with the error would keep every module alive.
    sys.exit(exit_code)


def _explain_undecodable_path(arguments: Sequence[str]) -> UsageError | None:
    """Return an error that names the first argument that is not valid UTF-8.

    Libraries such as Arrow reject a path that is not valid UTF-8.

    Returns:
        The error; None if all arguments are valid Unicode.
    """
    from builder.text.names import to_valid_unicode

    names = [text for text in map(to_valid_unicode, arguments) if text not in arguments]
    if not names:
        return None
    return UsageError(
        f"{names[0]}: expected a path in UTF-8, found invalid bytes; rename the file or folder"
    )


def _report_error(
    error: BaseException,
    signal_handler: _SignalHandler,
    arguments: Sequence[str],
    *,
    debug: bool,
) -> int | None:
    """Print an error for the user and return its exit code.

    Returns:
        The exit code; None if the caller must re-raise the error, because the error is
        unexpected or `debug` is true.
    """
    if signal_handler.received_signal:
        typer.echo(
            "longeval: interrupted; finished stages are kept, run the command again to resume",
            err=True,
        )
        return 128 + signal_handler.received_signal
    user_error = error if isinstance(error, LongEvalError) else to_user_error(error)
    if user_error is None and isinstance(error, Exception):
        user_error = _explain_undecodable_path(arguments)
    if user_error is None or debug:
        return None
    typer.echo(f"longeval: {escape_control_characters(str(user_error), keep=NEWLINE)}", err=True)
    return user_error.exit_code
