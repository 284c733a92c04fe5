"""The command `longeval`: parses, calls one public function, prints; no logic.

Exit codes: 0 done, 1 the data is invalid or a stage failed, 2 wrong usage or definition, 130
interrupted, 143 terminated.
"""

import signal
import sys
import threading
from typing import Annotated

import typer

from builder import __version__
from builder.cli import (
    analysis,
    build,
    clicks,
    collection,
    evaluation,
    exploring,
    filtering,
    judging,
    queries,
    release,
    start,
    studies,
    translation,
    trends,
)
from builder.cli.arguments import spread
from builder.cli.help import Verbs
from builder.cli.output import printable, show_all
from builder.errors import LongEvalError
from builder.io.disk import to_user_error

LINE_END = "\n"

app = typer.Typer(
    name="longeval",
    cls=Verbs,
    help="Build, check and study longitudinal test collections for information retrieval.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (
    start,
    build,
    collection,
    release,
    analysis,
    evaluation,
    exploring,
    filtering,
    judging,
    studies,
):
    for verb in module.VERBS:
        app.command(verb.__name__.rstrip("_"))(verb)
for group in (
    queries.topics,
    queries.queries,
    clicks.clicks,
    judging.assess,
    translation.translate,
    evaluation.runs,
    trends.trend,
    studies.classification,
):
    app.add_typer(group)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"longeval-builder {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Build, check and study longitudinal test collections for information retrieval."""


class _Stop:
    """Remembers that the process was asked to stop, whatever exception comes of it.

    Engines turn the interruption of a query into errors of their own.
    """

    def __init__(self) -> None:
        self.signal = 0

    def __call__(self, number: int, _: object) -> None:
        self.signal = number
        raise KeyboardInterrupt

    def listen(self) -> None:
        """Take Ctrl-C and SIGTERM; only the main thread of a process can."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    given = sys.argv[1:] if arguments is None else arguments
    stop = _Stop()
    try:
        stop.listen()
        for stream in (sys.stdout, sys.stderr):
            show_all(stream)
        app(args=spread(given), prog_name="longeval")
    except BaseException as error:
        code = _report(error, stop, debug="--debug" in given)
        if code is None:
            raise
    # The exception is freed here. Pydantic's errors keep frames alive and the garbage collector
    # cannot see that: a variable of this frame that held one would keep every module alive.
    sys.exit(code)


def _report(error: BaseException, stop: _Stop, *, debug: bool) -> int | None:
    """Print an error that is about the data or the usage; its exit code, or None."""
    if stop.signal:
        typer.echo("longeval: interrupted; finished stages are kept, run it again", err=True)
        return 128 + stop.signal
    known = error if isinstance(error, LongEvalError) else to_user_error(error)
    if known is None or debug:
        return None
    typer.echo(f"longeval: {printable(str(known), also=LINE_END)}", err=True)
    return known.exit_code
