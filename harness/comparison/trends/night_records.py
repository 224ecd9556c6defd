"""A night and its runs, as the database keeps them."""

import msgspec

from harness.campaign.purposes import Purpose

ERROR = "ERROR"
"""The verdict of a run that could not be executed, and of a night with such runs."""


class NightRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run, or one attempt of a control or hazard."""

    scenario: str
    subject: str
    purpose: Purpose
    verdict: str
    """`VALID`, `INVALID`, `UNKNOWN` or `ERROR`."""
    seconds: float
    violations: int = 0
    load: str = ""
    """Digest of the load, and of the number of runs at once; empty if the directory is gone.

    Runs of another load are not compared.
    """
    allocations_per_s: float | None = None
    """None, as all figures below: the run has none, or its directory is gone."""
    claim_p50_ms: float | None = None
    claim_p99_ms: float | None = None
    pod_p50_ms: float | None = None
    pod_p99_ms: float | None = None
    detected_s: float | None = None
    """Seconds of this and the earlier attempts until a control was caught or a hazard shown."""


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign."""

    identity: str
    """The same for the same campaign, whatever became of its runs: start, seed and cluster."""
    digest: str
    """Of the results; another one for the same identity: they were completed or judged again."""
    started: str
    """Time in UTC, `2026-01-31T23:59:59Z`."""
    cluster: str
    seed: int
    verdict: str
    exit_code: int
    summary: str
    commit: str
    """Commit of Flake Hunt; empty if it is not known."""
    versions: dict[str, str]
    """Versions of Flake Hunt, its libraries and the tested schedulers."""
    runs: list[NightRun]
