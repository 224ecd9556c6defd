"""`flake-hunt trace`: the spans of a run for OpenTelemetry, while it goes on or afterwards."""

import contextlib
import os
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.history import journal_tails
    from harness.live import live_runs
    from harness.tracing import run_spans, span_sending

_PANEL = "Hunting"
READ_S, WAIT_S = 1.0, 1.0
"""Most seconds of reading between two looks at the run's state, and between two readings."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel=_PANEL)(trace)


def trace(
    directory: Annotated[
        pathlib.Path, typer.Argument(metavar="RUN_DIR", help="Folder of one run.")
    ] = pathlib.Path("reports/latest"),
) -> int:
    """Send the spans of a run to an OpenTelemetry collector, also while the run goes on.

    A trace for each pod and claim, with API calls, scheduling attempts, steps and holds, and one
    for the run. They come from the run's journals, so that nothing is measured twice and nothing
    slows down; the same run has the same ids whenever it is sent. OTLP over HTTP, with
    OpenTelemetry's environment variables: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,
    OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_SDK_DISABLED. Needs the extra otel.
    """
    from harness.tracing import span_sending

    span_sending.require_sdk(os.environ)
    with outputs.chosen() as out:
        sent, left_out = _send(directory)
        out.note(f"sent {outputs.counted(sent, 'span')} to {span_sending.where(os.environ)}")
        if left_out:
            text = "which name no pod or claim and are of no scheduling attempt"
            out.note(f"  without {outputs.counted(left_out, 'step')}, {text}")
    return 0


def _send(path: pathlib.Path) -> tuple[int, int]:
    """Send all spans of a run; return their number, and that of the steps left out."""
    from harness import clocks, errors
    from harness.history import directories
    from harness.live import live_runs
    from harness.tracing import run_spans, span_sending

    made = run_spans.RunSpans()
    senders: list[span_sending.Sender] = []

    def see(tail: "journal_tails.Tail", record: object) -> None:
        process = tail.header.process if tail.header is not None else ""
        for span in made.see(process, record):
            senders[0].add(span)

    with contextlib.closing(live_runs.LiveRun(path, see_too=see)) as live:
        if live.plan is None:
            raise errors.RunDirectoryError(live.snapshot().problem)
        offset_ns = run_spans.wall_offset_ns(
            directories.RunDirectory(path.resolve()), live.plan.boot_id
        )
        senders.append(span_sending.Sender(live.plan.run_id, offset_ns, _described(live)))
        with contextlib.closing(senders[0]) as sender:
            while not _has_ended(live):
                _settle(made, sender)
                clocks.sleep(WAIT_S)
            for span in made.end():
                sender.add(span)
            sender.flush()
            return sender.sent, made.left_out


def _has_ended(live: "live_runs.LiveRun") -> bool:
    """Read what has come; return whether the run has ended and everything was read."""
    is_over = live.snapshot().state in ("judging", "ended", "gone", "damaged")
    while not live.read(at_most_s=READ_S):
        pass
    return is_over


def _settle(made: "run_spans.RunSpans", sender: "span_sending.Sender") -> None:
    for span in made.settle():
        sender.add(span)
    sender.flush()


def _described(live: "live_runs.LiveRun") -> dict[str, str | int | float | bool]:
    """Return the attributes of the run that each of its services has."""
    if live.plan is None:
        return {}
    return {
        "flake_hunt.run.id": live.plan.run_id,
        "flake_hunt.scenario": live.plan.scenario,
        "flake_hunt.subject": live.plan.subject_name,
        "flake_hunt.seed": str(live.plan.seed),
    }
