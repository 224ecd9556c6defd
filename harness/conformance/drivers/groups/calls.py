"""Rules about calls that are late, cancelled, or meet their deadline."""

import contextlib

from harness import clocks, errors
from harness.cluster.kubelet_api import calls
from harness.conformance import results
from harness.conformance.drivers import benches, driver_calls
from harness.conformance.drivers.groups import unprepare

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Moments in a call, as shares of the time that such a call takes."""
_DEADLINES_S = (0.0005, 0.002, 0.01)
_SLOW_S = 0.5
_READ_S = 2.0
"""Time limit for the driver to read the claim after a call has begun."""


def deadline(bench: benches.Bench) -> None:
    """Deadlines that are shorter than any call, and about as long."""
    claim = bench.claim()
    for seconds in _DEADLINES_S:
        with contextlib.suppress(calls.CallError):
            bench.driver.prepare([claim.reference], deadline_s=seconds)
    _require_usable(bench, claim, "after a Prepare that met its deadline")


def cancelled_prepare(bench: benches.Bench) -> None:
    """At several moments."""
    claim = bench.claim()
    usual_s = call_s(bench)
    for share in SHARES:
        pending = bench.driver.start_prepare([claim.reference])
        clocks.sleep(share * usual_s)
        pending.cancel()
    _require_usable(bench, claim, "after a cancelled Prepare")


def cancelled_unprepare(bench: benches.Bench) -> None:
    """At several moments."""
    claim = bench.claim()
    files = set(bench.cdi())
    usual_s = call_s(bench)
    for share in SHARES:
        if bench.refusal(claim):  # the cancelled call may go on meanwhile; the kubelet tries again
            bench.prepared(claim, "at the second try")
        pending = bench.driver.start_unprepare([claim.reference])
        clocks.sleep(share * usual_s)
        pending.cancel()
    bench.unprepared(claim, "after a cancelled Unprepare")
    unprepare.require_nothing(bench, claim, files, "after a cancelled Unprepare")


def slow_api_server(bench: benches.Bench) -> None:
    """The answer to the driver's read of the claim is held back."""
    claim = bench.claim()
    pending = hold(bench, claim, deadline_s=_SLOW_S)
    with contextlib.suppress(calls.CallError):
        pending.answer()
    bench.held_reads.release()
    _require_usable(bench, claim, "after a slow API server")


def late_prepare(bench: benches.Bench) -> None:
    """A call that has waited somewhere."""
    claim = bench.claim()
    files = set(bench.cdi())
    bench.prepared(claim)
    bench.unprepared(claim)
    bench.remove(claim)
    if not bench.refusal(claim):
        unprepare.require_nothing(bench, claim, files, "after a late Prepare")


def overtaken_prepare(bench: benches.Bench) -> None:
    """The answer to the driver's read of the claim is held back meanwhile.

    A driver that lets Unprepare wait for Prepare does not break it.
    """
    claim = bench.claim()
    files = set(bench.cdi())
    prepare = hold(bench, claim, deadline_s=bench.options.limits.call_s)
    unprepare_call = bench.driver.start_unprepare([claim.reference])
    clocks.sleep(_SLOW_S)
    bench.remove(claim)
    bench.held_reads.release()
    with contextlib.suppress(calls.CallError):
        bench.answered(prepare)
    with contextlib.suppress(calls.CallError):
        bench.answered(unprepare_call)
    unprepare.require_nothing(bench, claim, files, "after a Prepare that Unprepare has overtaken")


def hold(bench: benches.Bench, claim: benches.Claim, *, deadline_s: float) -> driver_calls.Pending:
    """Start a Prepare whose read of the claim gets no answer.

    Raises Skipped if the driver does not read it, or the API server cannot hold it.
    """
    bench.require_restarts()
    bench.held_reads.hold(claim.reference.namespace, claim.reference.name)
    pending = bench.driver.start_prepare([claim.reference], deadline_s=deadline_s)
    with contextlib.suppress(errors.WaitTimeoutError):
        clocks.wait_until(
            lambda: pending.is_done or bench.held_reads.count(), timeout_s=_READ_S, why="a read"
        )
    if bench.held_reads.count():
        return pending
    raise results.Skipped("the driver does not read the claim when it is called")


def call_s(bench: benches.Bench) -> float:
    """Return how long a Prepare takes here, in seconds."""
    claim = bench.claim()
    started_ns = clocks.monotonic_ns()
    bench.prepared(claim)
    taken_s = (clocks.monotonic_ns() - started_ns) / 1e9
    bench.unprepared(claim)
    return taken_s


def _require_usable(bench: benches.Bench, claim: benches.Claim, when: str) -> None:
    devices = bench.prepared(claim, when)
    if missing := bench.missing_ids(devices):
        raise results.Failed(f"{when}, Prepare answers with {missing[0]}, which no file defines")
    bench.unprepared(claim, when)
    unprepare.require_free(bench, claim, f"{when} and Unprepare")
