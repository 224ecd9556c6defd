"""Rules about calls that are late, cancelled, or meet their deadline."""

import contextlib

from harness import clocks, errors
from harness.cluster.kubelet_api import calls
from harness.conformance import benches, driver_instances, requirements, results

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Moments in a call, as shares of the time that such a call takes."""
_DEADLINES_S = (0.0005, 0.002, 0.01)
"""Shorter than any call, and about as long."""
_SLOW_S = 0.5
_READ_S = 2.0
"""Time limit for the driver to read the claim after a call has begun."""


def deadline(bench: benches.Bench) -> None:
    claim = bench.claim()
    for seconds in _DEADLINES_S:
        with contextlib.suppress(calls.CallError):
            bench.driver.start_prepare([claim.reference], deadline_s=seconds).answer()
    _require_usable(bench, claim, "after a Prepare that met its deadline")


def cancelled_prepare(bench: benches.Bench) -> None:
    claim = bench.claim()
    usual_s = call_s(bench)
    for share in SHARES:
        pending = bench.driver.start_prepare([claim.reference])
        clocks.sleep(share * usual_s)
        pending.cancel()
    _require_usable(bench, claim, "after a cancelled Prepare")


def cancelled_unprepare(bench: benches.Bench) -> None:
    claim = bench.claim()
    usual_s = call_s(bench)
    for share in SHARES:
        if bench.refusal(claim):  # the cancelled call may go on meanwhile; the kubelet tries again
            bench.prepared(claim, "at the second try")
        pending = bench.driver.start_unprepare([claim.reference])
        clocks.sleep(share * usual_s)
        pending.cancel()
    bench.unprepared(claim, "after a cancelled Unprepare")
    requirements.require_nothing(bench, claim, "after a cancelled Unprepare")


def slow_api_server(bench: benches.Bench) -> None:
    claim = bench.claim()
    pending = hold(bench, claim, deadline_s=_SLOW_S)
    with contextlib.suppress(calls.CallError):
        pending.answer()
    bench.objects.release_reads()
    _require_usable(bench, claim, "after a slow API server")


def late_prepare(bench: benches.Bench) -> None:
    claim = bench.prepared_claim()
    bench.unprepared(claim)
    bench.remove(claim)
    if not bench.refusal(claim):
        requirements.require_nothing(bench, claim, "after a late Prepare")


def overtaken_prepare(bench: benches.Bench) -> None:
    """A driver that lets Unprepare wait for Prepare does not break it."""
    claim = bench.claim()
    prepare = hold(bench, claim, deadline_s=bench.options.deadline_s)
    unprepare = bench.driver.start_unprepare([claim.reference])
    clocks.sleep(_SLOW_S)
    bench.remove(claim)
    bench.objects.release_reads()
    for call in (prepare, unprepare):
        with contextlib.suppress(calls.CallError):
            bench.answered(call)
    requirements.require_nothing(bench, claim, "after a Prepare that Unprepare has overtaken")


def hold(
    bench: benches.Bench, claim: benches.Claim, *, deadline_s: float
) -> driver_instances.Pending:
    """Start a Prepare whose read of the claim gets no answer.

    Raises Skipped if the driver does not read it, or the API server cannot hold it.
    """
    bench.require_restarts()
    bench.objects.hold_reads(claim.name)
    pending = bench.driver.start_prepare([claim.reference], deadline_s=deadline_s)
    with contextlib.suppress(errors.WaitTimeoutError):
        clocks.wait_until(
            lambda: pending.is_done or bench.objects.held_reads(), timeout_s=_READ_S, why="a read"
        )
    results.skip_unless(
        bench.objects.held_reads(), "the driver does not read the claim when it is called"
    )
    return pending


def call_s(bench: benches.Bench) -> float:
    claim = bench.claim()
    started_ns = clocks.monotonic_ns()
    bench.prepared(claim)
    taken_s = (clocks.monotonic_ns() - started_ns) / 1e9
    bench.unprepared(claim)
    return taken_s


def _require_usable(bench: benches.Bench, claim: benches.Claim, when: str) -> None:
    requirements.require_defined(bench, bench.prepared(claim, when), when)
    bench.unprepared(claim, when)
    requirements.require_free(bench, claim, f"{when} and Unprepare")
