"""Rules about two instances side by side, during a rolling update."""

from collections.abc import Callable

from harness.cluster.kubelet_api import calls, preparations
from harness.conformance import benches, driver_instances, requirements, results


def both_register(bench: benches.Bench) -> None:
    """The kubelet tells them apart by their endpoints."""
    with bench.second_instance() as other:
        first, second = bench.instance.info, other.info
        if first.socket == second.socket or first.endpoint == second.endpoint:
            raise results.Failed(f"both instances serve {second.endpoint}")
        results.require(
            first.name == second.name,
            f"the instances register as {first.name} and {second.name}",
        )
        bench.require_alive("beside a second instance")


def other_one_prepares_again(bench: benches.Bench) -> None:
    """It is not said which of them the kubelet asks."""
    claim = bench.claim()
    before = bench.prepared(claim)
    with bench.second_instance() as other:
        after = _prepared(other, claim)
    results.require(
        after == before, f"the second instance answers with {after}, and the first with {before}"
    )


def other_one_unprepares(bench: benches.Bench) -> None:
    """The memory of the first one is out of date then."""
    claim = bench.prepared_claim()
    with bench.second_instance() as other:
        entry = _entry(other.driver.start_unprepare, claim)
        results.require(entry is None, f"the second instance does not unprepare the claim: {entry}")
        requirements.require_free(bench, claim, "that the second instance has unprepared")


def device_held(bench: benches.Bench) -> None:
    claim = bench.prepared_claim(bench.devices.exclusive()[0])
    second = bench.claim(*claim.devices)
    requirements.require_exclusive(bench, second)
    with bench.second_instance() as other:
        results.require(
            not isinstance(_entry(other.driver.start_prepare, second), tuple),
            "the second instance prepares a device that the first one holds",
        )


def old_one_ends(bench: benches.Bench) -> None:
    claim = bench.claim()
    with bench.second_instance() as other:
        known = driver_instances.sockets(bench.folders.registry)
        bench.prepared(claim)
        bench.instance.stop()
        left = driver_instances.sockets(bench.folders.registry)
        try:
            _prepared(other, claim)
        finally:
            bench.instance.start(known=[other.info.socket])
    results.require(
        set(known) - set(left) and other.info.socket in left,
        f"after the end of the old instance there are {left}, before {known}",
    )


def _prepared(instance: driver_instances.Instance, claim: benches.Claim) -> preparations.Prepared:
    entry = _entry(instance.driver.start_prepare, claim)
    if not isinstance(entry, tuple):
        raise results.Failed(f"the second instance does not prepare the claim: {entry}")
    return entry


def _entry(
    start: Callable[[list[driver_instances.Claim]], driver_instances.Pending], claim: benches.Claim
) -> driver_instances.Entry:
    try:
        answer: driver_instances.Answer = start([claim.reference]).answer()
    except calls.CallError as error:
        return preparations.PreparationError("CallFailed", str(error))
    return answer.get(claim.uid)
