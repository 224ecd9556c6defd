"""Rules about kill -9 at any moment: the next process finds what is there, and goes on."""

import contextlib
from collections.abc import Callable, Iterator

from harness import clocks
from harness.cluster.kubelet_api import calls as kubelet_calls
from harness.conformance import benches, driver_instances, requirements, results
from harness.conformance.groups import calls

_SHARES = (0.2, 0.6, 1.0, 1.6)
"""Moments as shares of the time that a Prepare takes; an Unprepare takes about as long."""
_CUT_BYTES = 7


def during_prepare(bench: benches.Bench) -> None:
    for claim in _killed(bench, lambda claim: bench.driver.start_prepare([claim.reference])):
        devices = bench.prepared(claim, "that was interrupted by kill -9")
        requirements.require_defined(bench, devices, "after kill -9 during Prepare")


def during_unprepare(bench: benches.Bench) -> None:
    def start(claim: benches.Claim) -> driver_instances.Pending:
        bench.prepared(claim)
        return bench.driver.start_unprepare([claim.reference])

    for claim in _killed(bench, start):
        bench.unprepared(claim, "that was interrupted by kill -9")
        requirements.require_free(bench, claim, "after kill -9 during Unprepare")


def leaves_nothing(bench: benches.Bench) -> None:
    """The kubelet calls Unprepare for a pod that is gone meanwhile."""
    for claim in _killed(bench, lambda claim: bench.driver.start_prepare([claim.reference])):
        bench.unprepared(claim, "after kill -9 during Prepare")
        requirements.require_nothing(bench, claim, "after kill -9 during Prepare, and Unprepare,")


def while_reading(bench: benches.Bench) -> None:
    claim = bench.claim()
    calls.hold(bench, claim, deadline_s=bench.options.deadline_s)
    bench.instance.kill()
    bench.objects.release_reads()
    bench.start_again()
    bench.prepared(claim, "after kill -9 while it was read")
    bench.unprepared(claim)


def damaged_state(bench: benches.Bench) -> None:
    """Errors are allowed, an end is not."""
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
    bench: benches.Bench, start: Callable[[benches.Claim], driver_instances.Pending]
) -> Iterator[benches.Claim]:
    """Kill the driver at several moments of a call, start it again, and yield the claim each time.

    The claim is unprepared after each.
    """
    bench.require_restarts()
    usual_s = calls.call_s(bench)
    for share in _SHARES:
        claim = bench.claim()
        start(claim)
        clocks.sleep(share * usual_s)
        bench.instance.kill()
        bench.start_again()
        yield claim
        bench.settle()
