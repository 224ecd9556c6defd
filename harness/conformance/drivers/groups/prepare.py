"""Rules about NodePrepareResources."""

import uuid

from harness.cluster.kubelet_api import preparations
from harness.conformance import results
from harness.conformance.drivers import answers, benches, driver_calls, published_devices


def allocated_claim(bench: benches.Bench) -> None:
    """The plain case."""
    bench.prepared(bench.claim())


def allocated_devices(bench: benches.Bench) -> None:
    """Of several devices, too, where the driver has them."""
    claim = bench.claim(*bench.all_devices()[:3])
    entry = bench.prepared(claim)
    answers.require_devices({claim.uid: entry})
    if wrong := answers.wrong_devices(claim, entry):
        raise results.Failed(f"the claim {wrong}")


def request_names(bench: benches.Bench) -> None:
    """A kubelet finds the devices of a container by these names."""
    claim = bench.claim(*bench.all_devices()[:2], apart=True)
    entry = bench.prepared(claim)
    answers.require_devices({claim.uid: entry})
    if wrong := answers.wrong_requests(claim, entry):
        raise results.Failed(f"the claim {wrong}")


def same_answer_twice(bench: benches.Bench) -> None:
    """Without a restart of either side."""
    claim = bench.claim()
    _require_same(bench, claim, bench.prepared(claim), "a second time")
    bench.unprepared(claim, "of a claim that was prepared twice")


def same_after_driver_restart(bench: benches.Bench) -> None:
    """By kill -9, as a crash."""
    claim = bench.claim()
    before = bench.prepared(claim)
    bench.restart()
    _require_same(bench, claim, before, "after a restart of the driver")


def same_after_kubelet_restart(bench: benches.Bench) -> None:
    """Over new connections, after another registration."""
    claim = bench.claim()
    before = bench.prepared(claim)
    bench.kubelet_restarts()
    _require_same(bench, claim, before, "after a restart of the kubelet")


def missing_claim(bench: benches.Bench) -> None:
    """As a pod that was deleted by force with its claim."""
    claim = bench.claim()
    bench.remove(claim)
    _require_refusal(bench, claim, "a claim that is not there")


def replaced_claim(bench: benches.Bench) -> None:
    """The claim of that name is another one now."""
    _require_refusal(bench, _with_other_uid(bench.claim()), "a claim of another uid")


def unallocated_claim(bench: benches.Bench) -> None:
    """A claim whose allocation was taken back."""
    _require_refusal(bench, bench.claim(is_allocated=False), "a claim without allocation")


def unreserved_claim(bench: benches.Bench) -> None:
    """The kubelet checks it before it calls."""
    if not bench.refusal(bench.claim(status={"reservedFor": None})):
        raise results.Failed("a claim that no pod has reserved is prepared")


def unknown_device(bench: benches.Bench) -> None:
    """A device may go between the allocation and the call."""
    known = bench.devices()[0]
    unknown = published_devices.Device(pool=known.pool, name="no-such-device")
    bench.refusal(bench.claim(unknown))
    bench.require_alive("after a claim with an unknown device")


def foreign_results(bench: benches.Bench) -> None:
    """Claims may have devices of several drivers."""
    row = {"driver": "other.example.com", "pool": "elsewhere", "device": "foreign"}
    claim = bench.claim(more_results=[row])
    for device in bench.prepared(claim, "with a device of another driver, too,"):
        if device.device == "foreign":
            raise results.Failed("the answer has a device of another driver")


def _require_same(
    bench: benches.Bench, claim: benches.Claim, before: preparations.Prepared, when: str
) -> None:
    after = bench.prepared(claim, when)
    if sorted(after, key=str) != sorted(before, key=str):
        raise results.Failed(
            f"Prepare answers {when} with {_text(after)}, and before that with {_text(before)}"
        )
    if missing := bench.missing_ids(after):
        raise results.Failed(f"Prepare answers {when} with {missing[0]}, which no CDI file defines")


def _text(devices: preparations.Prepared) -> str:
    shown = [f"{item.device} ({', '.join(item.cdi_device_ids)})" for item in devices]
    return ", ".join(shown) or "no device"


def _require_refusal(bench: benches.Bench, claim: benches.Claim, what: str) -> None:
    if not bench.refusal(claim):
        raise results.Failed(f"{what} is prepared")
    bench.require_alive(f"after {what}")
    bench.prepared(bench.claim(*claim.devices), f"after the refusal of {what}")


def _with_other_uid(claim: benches.Claim) -> benches.Claim:
    namespace, name, _ = claim.reference
    return benches.Claim(
        reference=driver_calls.Claim(namespace, name, str(uuid.uuid4())), devices=claim.devices
    )
