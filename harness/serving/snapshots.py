"""How far a run is, as one document: for pages, lines, programs."""

from typing import Literal, TypeAlias

import msgspec

from harness.checks import run_figures

SCHEMA_VERSION = 1
State: TypeAlias = Literal["starting", "running", "judging", "ended", "gone", "damaged"]
"""`ended`: with a verdict; `gone`: without one, since the process that made it lives no more."""
AT_END = ("ended", "gone", "damaged")
"""States after which nothing comes."""


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """API calls that have ended, with quantiles of their durations; None: there is no call."""

    p50_ms: float | None = None
    p99_ms: float | None = None
    calls: int
    ok: int
    fail: int
    unknown: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as far as its journals show."""

    schema: int = SCHEMA_VERSION
    kind: Literal["run"] = "run"
    directory: str
    run_id: str
    scenario: str
    subject: str
    seed: int
    campaign: str = ""
    """Name of the campaign that made it; empty: none."""
    state: State
    phase: str
    elapsed_s: float
    """Time since the plan was written; up to the end of a run that has ended."""
    is_read: bool
    """True if all that has been written is in here."""
    api_calls: Calls
    api_calls_open: int
    api_calls_per_s: float
    """Rate of the last 5 whole seconds; the average of a run that has ended."""
    claims: int
    """That exist now."""
    claims_created: int
    claims_allocated: int
    claim_to_allocation: run_figures.Latency
    pods: int
    pods_created: int
    pods_ran: int
    pod_to_running: run_figures.Latency
    allocations: int
    """Holds that began so far."""
    holds_open: int
    double_allocations: int
    """So far, as the recorder saw them; the verdict is what counts."""
    faults_applied: int
    processes: int
    problem: str = ""
    """Why nothing more comes, or is read; empty: nothing is wrong."""
    verdict: str = ""
    """Empty: there is none yet."""
    reason: str = ""


def elapsed(seconds: float) -> str:
    """Return `7.0 s`, `2 min 5 s`, …"""
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def milliseconds(value: float | None) -> str:
    """Return `3.4`, `1240`; `-` if nothing was measured."""
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"
