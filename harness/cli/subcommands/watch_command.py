"""`flake-hunt watch`: how far a run is, while it goes on."""

import contextlib
import pathlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import msgspec

from harness import clocks
from harness.cli import options
from harness.cli.terminal import outputs
from harness.report import escaping

if TYPE_CHECKING:
    from collections.abc import Callable

    import rich.console

    from harness.serving import live_runs, snapshots

    Show = Callable[[snapshots.Run], None]

REFRESH_S = 0.5
"""Seconds between two states on a terminal."""
EVERY_S = 5.0
"""Seconds between two lines without a terminal, or two JSON documents."""
READ_S = 0.4
"""Most seconds that are spent on reading before the next state is shown."""
_CODES = {"VALID": 0, "INVALID": 10, "UNKNOWN": 20, "ERROR": 1}


def watch(
    directory: pathlib.Path = options.argument(
        "Folder of one run.", "RUN_DIR", default=pathlib.Path("reports/latest")
    ),
    output: Literal["text", "json"] = options.of(
        "json: one JSON document on each line, the last one with the verdict.", default="text"
    ),
) -> int:
    """Show how far a run is until it ends: phase, API calls, claims, holds, violations.

    It reads the files of the folder, and asks no process. The exit code is that of the verdict; 20
    if the run was killed or interrupted, so that it has none.
    """
    from harness.cli.terminal import displaying
    from harness.serving import live_runs

    with contextlib.closing(live_runs.LiveRun(directory)) as live:
        console = displaying.console()
        if output == "json":
            return _follow(live, _print_json, every_s=EVERY_S)
        if not console.is_terminal:
            return _follow(live, _print_line, every_s=EVERY_S)
        with _lines(console) as show:
            return _follow(live, show, every_s=REFRESH_S)


def _follow(live: "live_runs.LiveRun", show: "Show", *, every_s: float) -> int:
    """Show the state again and again until the end, or without a reader; return the exit code."""
    from harness.serving import snapshots

    shown_s = -every_s
    while outputs.has_reader():
        is_read = live.read(at_most_s=READ_S)
        state = live.snapshot()
        if state.state in snapshots.AT_END:
            return _show_end(live, show)
        if time.monotonic() - shown_s >= every_s:
            show(state)
            shown_s = time.monotonic()
        if is_read:
            clocks.sleep(min(REFRESH_S, every_s))
    return _CODES["UNKNOWN"]


def _show_end(live: "live_runs.LiveRun", show: "Show") -> int:
    began_s, is_read = time.monotonic(), False
    while not is_read:
        is_read = live.read(at_most_s=READ_S)
        if not is_read and time.monotonic() - began_s > READ_S:
            show(live.snapshot())
    state = live.snapshot()
    show(state)
    return _CODES.get(state.verdict, _CODES["UNKNOWN"])


def _print_json(state: "snapshots.Run") -> None:
    print(escaping.in_json(msgspec.json.encode(state).decode()), flush=True)


def _print_line(state: "snapshots.Run") -> None:
    print(escaping.visible("  ".join(_said(state))), flush=True)


@contextlib.contextmanager
def _lines(console: "rich.console.Console") -> "Iterator[Show]":
    import rich.live
    import rich.text

    with rich.live.Live(console=console, auto_refresh=False, transient=False) as drawing:

        def show(state: "snapshots.Run") -> None:
            lines = map(escaping.visible, [_title(state), state.directory, *_said(state)])
            drawing.update(rich.text.Text("\n".join(lines), overflow="fold"), refresh=True)

        yield show


def _title(run: "snapshots.Run") -> str:
    return ", ".join(filter(None, [run.scenario, run.subject, f"seed {run.seed}"]))


def _said(run: "snapshots.Run") -> list[str]:
    from harness.serving import snapshots

    ending = f"{run.verdict} {run.reason}".strip()
    return [
        f"{snapshots.elapsed(run.elapsed_s):>8}",
        *_of_run(run),
        *filter(None, [ending, run.problem]),
    ]


def _of_run(run: "snapshots.Run") -> "Iterator[str]":
    from harness.serving import snapshots

    calls = run.api_calls
    outcomes = f"{calls.ok} ok, {calls.fail} fail, {calls.unknown} unknown"
    p50_ms, p99_ms = map(snapshots.milliseconds, (calls.p50_ms, calls.p99_ms))
    yield run.phase or run.state
    yield f"pods {run.pods_created} created, {run.pods_ran} ran"
    yield f"claims {run.claims_created} created, {run.claims_allocated} allocated"
    yield f"holds {run.holds_open} open"
    yield (
        f"API calls {calls.calls} ({outcomes}; {run.api_calls_per_s:g}/s; p50 {p50_ms} ms, "
        f"p99 {p99_ms} ms)"
    )
    yield f"double allocations {run.double_allocations}"
