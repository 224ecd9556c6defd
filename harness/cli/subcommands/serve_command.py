"""`flake-hunt serve`: a folder of reports in a browser."""

import os
import pathlib
import sys
import webbrowser
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
    """Show a folder of reports in the browser: runs, campaigns, and what runs now.

    Only this machine can ask, and no page of another site can read it. The server reads; it changes
    nothing. It ends by Ctrl-C, with exit code 0.
    """
    from harness.serving import servers

    def tell(address: str) -> None:
        print(f"{reports.resolve()}\n{address}\nCtrl-C ends it.", flush=True)
        if not no_browser and _has_display():
            webbrowser.open(address)

    servers.until_interrupted(reports, servers.bound(port), tell)
    return 0


def _has_display() -> bool:
    is_graphical = sys.platform == "darwin" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return sys.stdout.isatty() and is_graphical
