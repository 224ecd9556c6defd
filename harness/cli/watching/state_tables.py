"""The state of a run or a campaign as tables for a terminal, from 80 columns on."""

from collections.abc import Iterator

import rich.console
import rich.table
import rich.text

from harness.checks import verdicts
from harness.cli.terminal import displaying, outputs
from harness.live import figure_texts, snapshots
from harness.report import escaping


def line(snapshot: snapshots.Snapshot) -> str:
    """Return one line."""
    parts = _run_line(snapshot) if isinstance(snapshot, snapshots.Run) else _campaign_line(snapshot)
    ending = f"{snapshot.verdict} {snapshot.reason}".strip()
    return "  ".join(filter(None, [*parts, ending, snapshot.problem]))


def _run_line(run: snapshots.Run) -> list[str]:
    calls = run.api_calls
    outcomes = f"{calls.ok} ok, {calls.fail} fail, {calls.unknown} unknown"
    latency = f"p50 {figure_texts.milliseconds(calls.p50_ms)} ms, p99 {figure_texts.milliseconds(calls.p99_ms)} ms"
    return [
        f"{figure_texts.elapsed(run.elapsed_s):>8}",
        run.phase or run.state,
        f"pods {run.pods_created} created, {run.pods_ran} ran",
        f"claims {run.claims_created} created, {run.claims_allocated} allocated",
        f"holds {run.holds_open} open",
        f"API calls {calls.calls} ({outcomes}; {run.api_calls_per_s:g}/s; {latency})",
        f"double allocations {run.double_allocations}",
    ]


def _campaign_line(campaign: snapshots.Campaign) -> list[str]:
    parts = [
        f"{figure_texts.elapsed(campaign.elapsed_s):>8}",
        f"{campaign.done} of {outputs.counted(campaign.planned, 'run')} done",
        figure_texts.verdict_counts(campaign.by_verdict),
    ]
    if campaign.controls_planned:
        parts.append(f"{campaign.controls_caught} of {campaign.controls_planned} controls caught")
    if campaign.hazards_planned:
        parts.append(f"{campaign.hazards_shown} of {campaign.hazards_planned} hazards shown")
    now = [f"{run.scenario} {run.subject} ({run.phase})" for run in campaign.running]
    return [*parts, f"now: {', '.join(now)}"] if now else parts


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
        parts = list(_of_run(snapshot))
    else:
        parts = list(_of_campaign(snapshot, height=height))
    return rich.console.Group(*parts)


def _text(text: str, style: str = "") -> rich.text.Text:
    """Return a text whose control characters are escaped: names in evidence are untrusted."""
    return rich.text.Text(escaping.visible(text), style=style, overflow="fold")


def _head(snapshot: snapshots.Snapshot, name: str) -> Iterator[rich.console.RenderableType]:
    word = snapshot.verdict or snapshot.state
    line = rich.text.Text.assemble(
        (word, _STYLES.get(word, "bold cyan")),
        f"  {escaping.visible(name)}  {figure_texts.elapsed(snapshot.elapsed_s)}",
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


def _table(*columns: tuple[str, str]) -> rich.table.Table:
    """Return an empty table with columns of a name and `left` or `right`."""
    table = rich.table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, side in columns:
        justify: rich.console.JustifyMethod = "right" if side == "right" else "left"
        table.add_column(name, justify=justify, overflow="fold" if side == "left" else "ellipsis")
    return table


def _objects(run: snapshots.Run) -> rich.table.Table:
    numbers = ("now", "so far", "reached", "p50 ms", "p99 ms")
    table = _table(("", "left"), *((name, "right") for name in numbers))
    for name, now, created, reached, word, waits in (
        ("pods", run.pods, run.pods_created, run.pods_ran, "ran", run.pod_to_running),
        (
            *("claims", run.claims, run.claims_created, run.claims_allocated, "allocated"),
            run.claim_to_allocation,
        ),
    ):
        quantiles = map(figure_texts.milliseconds, (waits.p50_ms, waits.p99_ms))
        table.add_row(name, str(now), str(created), f"{reached} {word}", *quantiles)
    table.add_row("holds", str(run.holds_open), str(run.allocations))
    doubles = str(run.double_allocations)
    style = "bold red" if run.double_allocations else "green"
    table.add_row("double allocations", "", rich.text.Text(doubles, style=style))
    if run.faults_applied:
        table.add_row("faults applied", "", str(run.faults_applied))
    return table


def _calls(run: snapshots.Run) -> rich.table.Table:
    names = ("calls", "ok", "fail", "unknown", "p50 ms", "p99 ms")
    table = _table(("API calls", "left"), *((name, "right") for name in names))
    for calls in run.by_call[:CALLS_SHOWN]:
        table.add_row(_text(f"{calls.verb} {calls.resource}"), *_numbers(calls))
    rest = run.by_call[CALLS_SHOWN:]
    if rest:
        counts = [sum(getattr(item, name) for item in rest) for name in ("calls", "ok", "fail")]
        unknown = sum(item.unknown for item in rest)
        table.add_row(f"{len(rest)} others", *map(str, counts), str(unknown), "", "")
    rate = f"{run.api_calls_per_s:g}/s, {run.api_calls_open} open"
    table.add_row(rich.text.Text(f"all  {rate}", style="bold"), *_numbers(run.api_calls))
    return table


def _numbers(calls: snapshots.Calls) -> Iterator[str | rich.text.Text]:
    yield from map(str, (calls.calls, calls.ok))
    yield rich.text.Text(str(calls.fail), style="yellow" if calls.fail else "")
    yield rich.text.Text(str(calls.unknown), style="yellow" if calls.unknown else "")
    yield from map(figure_texts.milliseconds, (calls.p50_ms, calls.p99_ms))


def _of_campaign(
    campaign: snapshots.Campaign, *, height: int
) -> Iterator[rich.console.RenderableType]:
    amount = f"{campaign.done} of {campaign.planned} runs done"
    yield from _head(campaign, f"campaign, seed {campaign.seed}, {amount}")
    yield _text(f"  runs      {figure_texts.verdict_counts(campaign.by_verdict)}")
    for name, found, planned, word in (
        ("controls", campaign.controls_caught, campaign.controls_planned, "caught"),
        ("hazards", campaign.hazards_shown, campaign.hazards_planned, "shown"),
    ):
        if planned:
            yield _text(f"  {name:<9} {found} of {planned} {word}")
    yield ""
    if campaign.running:
        yield _running(campaign)
        yield ""
    yield _rows(campaign, most=max(height - 14 - 2 * len(campaign.running), 3))


def _running(campaign: snapshots.Campaign) -> rich.table.Table:
    columns = ("elapsed", "calls/s", "p99 ms", "holds", "double")
    table = _table(
        *(("running now", "left"), ("subject", "left"), ("phase", "left")),
        *((name, "right") for name in columns),
    )
    for run in campaign.running:
        table.add_row(
            *map(_text, (run.scenario, run.subject, run.phase)),
            figure_texts.elapsed(run.elapsed_s),
            f"{run.api_calls_per_s:g}",
            figure_texts.milliseconds(run.api_calls.p99_ms),
            str(run.holds_open),
            str(run.double_allocations),
        )
    return table


def _rows(campaign: snapshots.Campaign, *, most: int) -> rich.table.Table:
    """Return the rows of the plan; those with results last if not all can be shown."""
    table = _table(
        *(("scenario", "left"), ("subject", "left"), ("runs", "right"), ("found", "right")),
        *(("double", "right"), ("verdicts", "left")),
    )
    begun = [row for row in campaign.rows if row.runs]
    left = [row for row in campaign.rows if not row.runs]
    shown = [*begun[-most:], *left][:most] if len(campaign.rows) > most else campaign.rows
    for row in shown:
        must_fail = row.purpose in ("control", "hazard")
        table.add_row(
            _text(row.scenario),
            _text(row.subject),
            f"{row.runs}/{row.planned}",
            str(row.found) if must_fail else "",
            str(row.double_allocations),
            _verdicts(row),
        )
    if len(shown) < len(campaign.rows):
        table.add_row(f"… {len(campaign.rows) - len(shown)} more")
    return table


def _verdicts(row: snapshots.CampaignRow) -> rich.text.Text:
    """Return the verdicts of a row, in green as far as they are expected."""
    is_good = str(verdicts.Verdict.INVALID if row.purpose in ("control", "hazard") else "VALID")
    text = rich.text.Text()
    for word, count in sorted(row.by_verdict.items()):
        style = "green" if word == is_good else _STYLES.get(word, "")
        text.append(f"{count} {word}  ", style=style)
    return text
