"""Rules about two instances side by side, during a rolling update."""

from harness.cluster.kubelet_api import calls, preparations
from harness.conformance import results
from harness.conformance.drivers import benches, driver_instances


def both_register(bench: benches.Bench) -> None:
    """The kubelet tells them apart by their endpoints."""
    with bench.second_instance() as other:
        first, second = bench.instance.info, other.info
        if first.socket == second.socket or first.endpoint == second.endpoint:
            raise results.Failed(f"both instances serve {second.endpoint}")
        if first.name != second.name:
            raise results.Failed(f"the instances register as {first.name} and {second.name}")
        bench.require_alive("beside a second instance")


def other_one_prepares_again(bench: benches.Bench) -> None:
    """It is not said which of them the kubelet asks."""
    claim = bench.claim()
    before = bench.prepared(claim)
    with bench.second_instance() as other:
        after = _prepared(other, claim)
    if after != before:
        raise results.Failed(
            f"the second instance answers with {after}, and the first with {before}"
        )


def other_one_unprepares(bench: benches.Bench) -> None:
    """The memory of the first one is out of date then."""
    claim = bench.prepared_claim()
    with bench.second_instance() as other:
        try:
            entry = other.driver.unprepare([claim.reference]).get(claim.uid)
        except calls.CallError as error:
            entry = preparations.PreparationError("CallFailed", str(error))
        if entry is not None:
            raise results.Failed(f"the second instance does not unprepare the claim: {entry}")
        if reason := bench.refusal(bench.claim(*claim.devices)):
            raise results.Failed(
                f"the first instance still holds what the second has unprepared: {reason}"
            )


def device_held(bench: benches.Bench) -> None:
    claim = bench.prepared_claim(bench.exclusive_device())
    second = bench.claim(*claim.devices)
    if not bench.refusal(second):
        raise results.Skipped("the driver does not refuse a device that another claim holds")
    with bench.second_instance() as other:
        try:
            entry = other.driver.prepare([second.reference]).get(second.uid)
        except calls.CallError:
            return
    if isinstance(entry, tuple):
        raise results.Failed("the second instance prepares a device that the first one holds")


def old_one_ends(bench: benches.Bench) -> None:
    """The sockets of the other one stay."""
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
    if set(known) - set(left) == set() or other.info.socket not in left:
        raise results.Failed(f"after the end of the old instance there are {left}, before {known}")


def _prepared(instance: driver_instances.Instance, claim: benches.Claim) -> preparations.Prepared:
    try:
        entry = instance.driver.prepare([claim.reference]).get(claim.uid)
    except calls.CallError as error:
        raise results.Failed(f"the second instance does not prepare the claim: {error}") from None
    if not isinstance(entry, tuple):
        raise results.Failed(f"the second instance does not prepare the claim: {entry}")
    return entry
