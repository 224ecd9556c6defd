"""The state of a run or a campaign in one line, where there is no terminal."""

from harness.cli.terminal import outputs
from harness.live import snapshots


def line(snapshot: snapshots.Snapshot) -> str:
    """Return one line."""
    parts = _of_run(snapshot) if isinstance(snapshot, snapshots.Run) else _of_campaign(snapshot)
    ending = f"{snapshot.verdict} {snapshot.reason}".strip()
    return "  ".join(filter(None, [*parts, ending, snapshot.problem]))


def elapsed(seconds: float | None) -> str:
    """Return `7.0 s`, `2 min 5 s`, …; `?` if it is not known."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def milliseconds(value: float | None) -> str:
    """Return `0.12`, `3.4`, `1240`; `-` if nothing was measured."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def verdicts(counts: dict[str, int]) -> str:
    """Return `3 VALID, 1 INVALID`."""
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) or "none"


def _of_run(run: snapshots.Run) -> list[str]:
    calls = run.api_calls
    outcomes = f"{calls.ok} ok, {calls.fail} fail, {calls.unknown} unknown"
    latency = f"p50 {milliseconds(calls.p50_ms)} ms, p99 {milliseconds(calls.p99_ms)} ms"
    return [
        f"{elapsed(run.elapsed_s):>8}",
        run.phase or run.state,
        f"pods {run.pods_created} created, {run.pods_ran} ran",
        f"claims {run.claims_created} created, {run.claims_allocated} allocated",
        f"holds {run.holds_open} open",
        f"API calls {calls.calls} ({outcomes}; {run.api_calls_per_s:g}/s; {latency})",
        f"double allocations {run.double_allocations}",
    ]


def _of_campaign(campaign: snapshots.Campaign) -> list[str]:
    parts = [
        f"{elapsed(campaign.elapsed_s):>8}",
        f"{campaign.done} of {outputs.counted(campaign.planned, 'run')} done",
        verdicts(campaign.by_verdict),
    ]
    if campaign.controls_planned:
        parts.append(f"{campaign.controls_caught} of {campaign.controls_planned} controls caught")
    if campaign.hazards_planned:
        parts.append(f"{campaign.hazards_shown} of {campaign.hazards_planned} hazards shown")
    now = [f"{run.scenario} {run.subject} ({run.phase})" for run in campaign.running]
    return [*parts, f"now: {', '.join(now)}"] if now else parts
