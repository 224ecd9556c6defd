"""`flake-hunt serve`: a folder of reports in a browser."""

import contextlib
import os
import pathlib
import sys
import tempfile
from typing import Annotated

import typer

PORT = 8765


def serve(
    reports: Annotated[
        pathlib.Path, typer.Argument(metavar="REPORTS", help="Folder of reports.")
    ] = pathlib.Path("reports"),
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port of loopback; 0: any.")
    ] = PORT,
    *,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> int:
    """Show a folder of reports in the browser: runs, campaigns, what runs now, tables, SQL.

    Only this machine can ask, and only with the address that is printed: it has a token, which is
    new each time. The server reads; it changes nothing. It ends by Ctrl-C, with exit code 0.
    """
    from harness.serving import servers

    with contextlib.ExitStack() as stack:

        def tell(address: str) -> None:
            print(f"{reports.resolve()}\n{address}\nCtrl-C ends it.", flush=True)
            if not no_browser and _has_display():
                _open(address, stack)

        servers.until_interrupted(reports, servers.bound(port), tell)
    return 0


def _has_display() -> bool:
    """Return whether a person sits before this terminal with a browser."""
    is_graphical = sys.platform == "darwin" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return sys.stdout.isatty() and is_graphical


def _open(address: str, stack: contextlib.ExitStack) -> None:
    """Open the browser by a page of this user alone: others can see the arguments of processes."""
    import html
    import webbrowser

    page = stack.enter_context(
        tempfile.NamedTemporaryFile("w", prefix="flake-hunt-", suffix=".html")  # noqa: SIM115
    )
    target = html.escape(address)
    page.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={target}">')
    page.write(f'<a href="{target}">Flake Hunt</a>')
    page.flush()
    webbrowser.open(pathlib.Path(page.name).as_uri())
