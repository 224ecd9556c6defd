"""The state of a run or a campaign as tables for a terminal, from 80 columns on."""

from collections.abc import Iterable, Iterator, Sequence

import rich.console
import rich.table
import rich.text

from harness.checks import verdicts
from harness.cli.terminal import displaying, outputs
from harness.report import escaping
from harness.serving.live import snapshots


def line(snapshot: snapshots.Snapshot) -> str:
    parts = _run_line(snapshot) if isinstance(snapshot, snapshots.Run) else _campaign_line(snapshot)
    ending = f"{snapshot.verdict} {snapshot.reason}".strip()
    return "  ".join(filter(None, [*parts, ending, snapshot.problem]))


def _run_line(run: snapshots.Run) -> list[str]:
    calls = run.api_calls
    outcomes = f"{calls.ok} ok, {calls.fail} fail, {calls.unknown} unknown"
    latency = f"p50 {snapshots.milliseconds(calls.p50_ms)} ms, p99 {snapshots.milliseconds(calls.p99_ms)} ms"
    return [
        f"{snapshots.elapsed(run.elapsed_s):>8}",
        run.phase or run.state,
        f"pods {run.pods_created} created, {run.pods_ran} ran",
        f"claims {run.claims_created} created, {run.claims_allocated} allocated",
        f"holds {run.holds_open} open",
        f"API calls {calls.calls} ({outcomes}; {run.api_calls_per_s:g}/s; {latency})",
        f"double allocations {run.double_allocations}",
    ]


def _campaign_line(campaign: snapshots.Campaign) -> list[str]:
    parts = [
        f"{snapshots.elapsed(campaign.elapsed_s):>8}",
        f"{campaign.done} of {outputs.counted(campaign.planned, 'run')} done",
        snapshots.verdict_counts(campaign.by_verdict),
    ]
    parts += _expected_failures(campaign)
    now = [f"{run.scenario} {run.subject} ({run.phase})" for run in campaign.running]
    return [*parts, f"now: {', '.join(now)}"] if now else parts


def _expected_failures(campaign: snapshots.Campaign) -> Iterator[str]:
    if campaign.controls_planned:
        yield f"{campaign.controls_caught} of {campaign.controls_planned} controls caught"
    if campaign.hazards_planned:
        yield f"{campaign.hazards_shown} of {campaign.hazards_planned} hazards shown"


CALLS_SHOWN = 8
"""Most verbs and resources of a run; the others are one row."""
_STYLES = {str(verdict): style for verdict, style in displaying.STYLES.items()} | {
    "ERROR": "bold red",
    "gone": "bold red",
    "damaged": "bold red",
}


def drawn(snapshot: snapshots.Snapshot, *, height: int) -> rich.console.Group:
    """Return the tables, of fewer lines than the terminal's `height`."""
    if isinstance(snapshot, snapshots.Run):
        return rich.console.Group(*_of_run(snapshot))
    return rich.console.Group(*_of_campaign(snapshot, height=height))


def _text(text: str, style: str = "") -> rich.text.Text:
    """Return a text whose control characters are escaped: names in evidence are untrusted."""
    return rich.text.Text(escaping.visible(text), style=style, overflow="fold")


def _head(snapshot: snapshots.Snapshot, name: str) -> Iterator[rich.console.RenderableType]:
    word = snapshot.verdict or snapshot.state
    line = rich.text.Text.assemble(
        (word, _STYLES.get(word, "bold cyan")),
        f"  {escaping.visible(name)}  {snapshots.elapsed(snapshot.elapsed_s)}",
    )
    yield line
    yield _text(f"  {snapshot.directory}", "dim")
    for text in filter(None, (snapshot.reason, snapshot.problem)):
        yield _text(f"  {text}")
    yield ""


def _of_run(run: snapshots.Run) -> Iterator[rich.console.RenderableType]:
    phase = f", {run.phase}" if run.phase else ""
    reading = "" if run.is_read else ", reading"
    yield from _head(run, f"{run.scenario}, {run.subject}, seed {run.seed}{phase}{reading}")
    yield _objects(run)
    yield ""
    yield _calls(run)


def _table(
    titles: Sequence[str], rows: Iterable[Sequence[str | rich.text.Text]], left: int = 1
) -> rich.table.Table:
    """Return a table; all columns but the first `left` ones are numbers."""
    made = displaying.table(titles, rows, right=titles[left:])
    made.padding = (0, 2, 0, 0)
    return made


def _objects(run: snapshots.Run) -> rich.table.Table:
    waits = [
        [snapshots.milliseconds(value) for value in (found.p50_ms, found.p99_ms)]
        for found in (run.pod_to_running, run.claim_to_allocation)
    ]
    style = "bold red" if run.double_allocations else "green"
    doubles = rich.text.Text(str(run.double_allocations), style=style)
    allocated = f"{run.claims_allocated} allocated"
    rows: list[list[str | rich.text.Text]] = [
        ["pods", str(run.pods), str(run.pods_created), f"{run.pods_ran} ran", *waits[0]],
        ["claims", str(run.claims), str(run.claims_created), allocated, *waits[1]],
        ["holds", str(run.holds_open), str(run.allocations)],
        ["double allocations", "", doubles],
    ]
    if run.faults_applied:
        rows.append(["faults applied", "", str(run.faults_applied)])
    return _table(("", "now", "so far", "reached", "p50 ms", "p99 ms"), rows)


def _calls(run: snapshots.Run) -> rich.table.Table:
    rows = [[f"{item.verb} {item.resource}", *_numbers(item)] for item in run.by_call[:CALLS_SHOWN]]
    if rest := run.by_call[CALLS_SHOWN:]:
        names = ("calls", "ok", "fail", "unknown")
        sums = {name: sum(getattr(item, name) for item in rest) for name in names}
        rows.append([f"{len(rest)} others", *_numbers(snapshots.Calls(**sums))])
    rate = f"{run.api_calls_per_s:g}/s, {run.api_calls_open} open"
    rows.append([f"all  {rate}", *_numbers(run.api_calls)])
    return _table(("API calls", "calls", "ok", "fail", "unknown", "p50 ms", "p99 ms"), rows)


def _numbers(calls: snapshots.Calls) -> list[str]:
    counts = map(str, (calls.calls, calls.ok, calls.fail, calls.unknown))
    return [*counts, *map(snapshots.milliseconds, (calls.p50_ms, calls.p99_ms))]


def _of_campaign(
    campaign: snapshots.Campaign, *, height: int
) -> Iterator[rich.console.RenderableType]:
    amount = f"{campaign.done} of {campaign.planned} runs done"
    yield from _head(campaign, f"campaign, seed {campaign.seed}, {amount}")
    yield _text(f"  runs      {snapshots.verdict_counts(campaign.by_verdict)}")
    for words in _expected_failures(campaign):
        yield _text(f"  {words}")
    yield ""
    if campaign.running:
        yield _running(campaign)
        yield ""
    yield _rows(campaign, most=max(height - 14 - 2 * len(campaign.running), 3))


def _running(campaign: snapshots.Campaign) -> rich.table.Table:
    titles = ("running now", "subject", "phase", "elapsed", "calls/s", "p99 ms", "holds", "double")
    rows = (
        (
            *(run.scenario, run.subject, run.phase, snapshots.elapsed(run.elapsed_s)),
            f"{run.api_calls_per_s:g}",
            snapshots.milliseconds(run.api_calls.p99_ms),
            str(run.holds_open),
            str(run.double_allocations),
        )
        for run in campaign.running
    )
    return _table(titles, rows, left=3)


def _rows(campaign: snapshots.Campaign, *, most: int) -> rich.table.Table:
    begun = [row for row in campaign.rows if row.runs]
    left = [row for row in campaign.rows if not row.runs]
    shown = [*begun[-most:], *left][:most] if len(campaign.rows) > most else campaign.rows
    rows: list[list[str | rich.text.Text]] = [
        [
            *(row.scenario, row.subject, f"{row.runs}/{row.planned}"),
            str(row.found) if row.purpose in ("control", "hazard") else "",
            str(row.double_allocations),
            _verdicts(row),
        ]
        for row in shown
    ]
    if len(shown) < len(campaign.rows):
        rows.append([f"… {len(campaign.rows) - len(shown)} more"])
    titles = ("scenario", "subject", "runs", "found", "double", "verdicts")
    return displaying.table(titles, rows, right=titles[2:5])


def _verdicts(row: snapshots.CampaignRow) -> rich.text.Text:
    is_good = str(verdicts.Verdict.INVALID if row.purpose in ("control", "hazard") else "VALID")
    text = rich.text.Text()
    for word, count in sorted(row.by_verdict.items()):
        style = "green" if word == is_good else _STYLES.get(word, "")
        text.append(f"{count} {word}  ", style=style)
    return text
