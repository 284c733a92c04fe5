"""The verb that shows a collection in a browser: `explore`."""

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer


def explore(
    collection: Annotated[Path, typer.Argument(help="A version folder, or one above it.")],
    runs: Annotated[
        Path | None, typer.Option(help="Run files, or a folder of them; named as for `evaluate`.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port of 127.0.0.1; 0: any that is free.")
    ] = 8717,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Walk through a collection in the browser, query by query and page by page.

    Example: longeval explore demo/collection --runs runs --open
    """
    from builder.explore.serve import serve

    def show_url(url: str) -> None:
        typer.echo(f"{url}  (read-only, for this machine only; press Ctrl-C to stop)")
        if open_:
            webbrowser.open(url)

    serve(collection, runs=runs, port=port, on_ready=show_url)


VERBS: tuple[Callable[..., Any], ...] = (explore,)
