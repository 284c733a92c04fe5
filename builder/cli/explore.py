"""Command `longeval explore`, which shows a collection in a browser."""

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.options import CollectionFolder


def explore(
    collection: CollectionFolder,
    runs: Annotated[
        Path | None,
        typer.Option(
            help="Run file, or folder of run files; the file or folder name must contain the "
            "snapshot name."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on 127.0.0.1; 0: any free port.")
    ] = 8717,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the explorer in a browser.")
    ] = False,
) -> None:
    """Browse the queries, documents and judgements of a collection in a web browser.

    Example: longeval explore demo/collection --runs runs --open
    """
    from builder.explore.serve import serve

    def on_ready(address: str) -> None:
        typer.echo(f"{address}  (read-only, accessible from this machine only; Ctrl-C to stop)")
        if open_browser:
            webbrowser.open(address)

    serve(collection, runs=runs, port=port, on_ready=on_ready)


COMMANDS: tuple[Callable[..., Any], ...] = (explore,)
