"""`flake-hunt serve|pack`: reports in a browser, and runs as one file that others judge."""

import os
import pathlib
import sys
import webbrowser

from harness import errors, writing
from harness.cli import options, run_paths
from harness.cli.terminal import outputs

PORT = 8765


def serve(
    reports: pathlib.Path = options.argument(
        "Folder of reports.", "REPORTS", default=pathlib.Path("reports")
    ),
    port: int = options.of("Port of loopback; 0: any.", min=0, max=65535, default=PORT),
    *,
    no_browser: bool = options.flag("Only print the address.", "--no-browser"),
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


def pack(
    directory: list[pathlib.Path] = options.argument(
        "Run directories, folders of runs, or one campaign.", "RUN_DIR", callback=run_paths.to_pack
    ),
    into: pathlib.Path | None = options.of(
        "File to write, FILE.zip (default: named after scenario, subject, verdict and run, in this folder).",
        "-o",
        "--into",
        metavar="FILE",
    ),
    redact: bool = options.flag(
        "Replace the names of nodes, pods, claims, devices, drivers, images, hosts, paths and users, the same by the same.",
        "--redact",
    ),
    limit_mb: int = options.of(
        "Largest size in megabytes; GitHub accepts 25.", min=1, max=2000, default=25
    ),
) -> int:
    """Pack runs, or one campaign, into a file that GitHub accepts and that `check` judges as it is.

    It has the record, the verdict, the report, the plan and the versions, and a README.txt that
    says how to judge it. Of a campaign it has the page and as many runs as fit, the worst first.
    The same runs give the same bytes.

    Each run is judged again first: a run that was changed or has not ended is refused. Without
    --redact, the record has the names of your nodes, users and paths. A redacted copy is judged,
    too: it is packed only if its verdict and its violations are those of the run.
    """
    from harness.cli.terminal import displaying
    from harness.packing import making, packs

    _require_new(into)
    limit = limit_mb * packs.MEGABYTE
    with outputs.chosen() as out:
        with displaying.status("judging and packing", out):
            made = making.make(directory, limit=limit, is_redacted=redact)
        target = into or pathlib.Path(f"{made.name}.zip")
        _require_new(target)
        writing.replace(target, made.content)
        print(target)
        size = f"{len(made.content) / packs.MEGABYTE:.2f} MB"
        kind = "redacted" if made.index.redacted else "with the names of nodes, users and paths"
        out.note(f"  {size}, {outputs.counted(len(made.index.runs), 'run')}, {kind}")
        for what in made.index.left_out:
            out.note(f"  not in it: {what}")
        out.note("  judge it: flake-hunt check FILE")
    return 0


def _require_new(target: pathlib.Path | None) -> None:
    """Raise UsageError for a file that exists, or that GitHub would not accept by its name."""
    if target is None:
        return
    if target.suffix.lower() != ".zip":
        raise errors.UsageError(
            f"expected a name that ends with .zip, which GitHub accepts, got {target}"
        )
    if target.exists():
        raise errors.UsageError(f"expected a new file, but {target} exists: name another one")
