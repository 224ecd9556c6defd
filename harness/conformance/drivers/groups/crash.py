"""Rules about kill -9 at any moment: the next process finds what is there, and goes on."""

import contextlib
from collections.abc import Callable, Iterator

from harness import clocks
from harness.cluster.kubelet_api import calls as kubelet_calls
from harness.conformance import results
from harness.conformance.drivers import benches, driver_calls
from harness.conformance.drivers.groups import calls, unprepare

_SHARES = (0.2, 0.6, 1.0, 1.6)
"""Moments as shares of the time that a Prepare takes; an Unprepare takes about as long."""
_CUT_BYTES = 7


def during_prepare(bench: benches.Bench) -> None:
    """At several moments of the call."""
    for claim in _killed(bench, lambda claim: bench.driver.start_prepare([claim.reference])):
        devices = bench.prepared(claim, "that was interrupted by kill -9")
        if missing := bench.missing_ids(devices):
            raise results.Failed(f"after kill -9 during Prepare, no file defines {missing[0]}")


def during_unprepare(bench: benches.Bench) -> None:
    """At several moments of the call."""
    for claim in _killed(
        bench, lambda claim: bench.driver.start_unprepare([claim.reference]), is_prepared=True
    ):
        bench.unprepared(claim, "that was interrupted by kill -9")
        unprepare.require_free(bench, claim, "after kill -9 during Unprepare")


def leaves_nothing(bench: benches.Bench) -> None:
    """The kubelet calls Unprepare for a pod that is gone meanwhile."""
    files = set(bench.cdi())
    for claim in _killed(bench, lambda claim: bench.driver.start_prepare([claim.reference])):
        bench.unprepared(claim, "after kill -9 during Prepare")
        unprepare.require_gone(bench, files, "after kill -9 during Prepare, and Unprepare")
        unprepare.require_free(bench, claim, "after kill -9 during Prepare, and Unprepare,")


def while_reading(bench: benches.Bench) -> None:
    """The moment before it does anything."""
    claim = bench.claim()
    calls.hold(bench, claim, deadline_s=bench.options.limits.call_s)
    bench.instance.kill()
    bench.held_reads.release()
    bench.start_again()
    bench.prepared(claim, "after kill -9 while it was read")
    bench.unprepared(claim)


def damaged_state(bench: benches.Bench) -> None:
    """A write that a power failure has cut off. Errors are allowed, an end is not."""
    bench.require_restarts()
    claim = bench.prepared_claim()
    bench.instance.kill()
    files = [path for path in bench.folders.state.rglob("*") if path.is_file()]
    files += [path for path in bench.folders.plugins.rglob("*.json") if path.is_file()]
    if not any(path.stat().st_size for path in files):
        bench.start_again()
        raise results.Skipped("the driver keeps nothing in {state_dir}")
    for path in files:
        path.write_bytes(path.read_bytes()[:-_CUT_BYTES])
    try:
        bench.instance.start()
        for call in (bench.prepare, bench.unprepare):
            with contextlib.suppress(kubelet_calls.CallError):
                call(claim)
    except results.Failed as failure:
        raise results.Failed(f"with a file that was cut off, {failure}") from None
    finally:
        bench.begin_afresh()


def _killed(
    bench: benches.Bench,
    start: Callable[[benches.Claim], driver_calls.Pending],
    *,
    is_prepared: bool = False,
) -> Iterator[benches.Claim]:
    """Kill the driver at several moments of a call, start it again, and yield the claim each time.

    The claim is unprepared after each.
    """
    bench.require_restarts()
    usual_s = calls.call_s(bench)
    for share in _SHARES:
        claim = bench.claim()
        if is_prepared:
            bench.prepared(claim)
        start(claim)
        clocks.sleep(share * usual_s)
        bench.instance.kill()
        bench.start_again()
        yield claim
        bench.settle()
