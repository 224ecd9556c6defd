"""Rules about NodePrepareResources."""

import dataclasses
import uuid

from harness.cluster.kubelet_api import preparations
from harness.conformance import allocations, benches, requirements, results


def allocated_claim(bench: benches.Bench) -> None:
    bench.prepared_claim()


def allocated_devices(bench: benches.Bench) -> None:
    """Of several devices, too, where the driver has them."""
    claim = bench.claim(*bench.devices.every()[:3])
    entry = bench.prepared(claim)
    requirements.require_devices({claim.uid: entry})
    wrong = requirements.wrong_devices(claim, entry)
    results.require(not wrong, f"the claim {wrong}")


def request_names(bench: benches.Bench) -> None:
    """A kubelet finds the devices of a container by these names."""
    claim = bench.claim(*bench.devices.every()[:2], apart=True)
    entry = bench.prepared(claim)
    requirements.require_devices({claim.uid: entry})
    wrong = requirements.wrong_requests(claim, entry)
    results.require(not wrong, f"the claim {wrong}")


def same_answer_twice(bench: benches.Bench) -> None:
    claim = bench.claim()
    _require_same(bench, claim, bench.prepared(claim), "a second time")
    bench.unprepared(claim, "of a claim that was prepared twice")


def same_after_driver_restart(bench: benches.Bench) -> None:
    claim = bench.claim()
    before = bench.prepared(claim)
    bench.restart()
    _require_same(bench, claim, before, "after a restart of the driver")


def same_after_kubelet_restart(bench: benches.Bench) -> None:
    """Over new connections, after another registration."""
    claim = bench.claim()
    before = bench.prepared(claim)
    bench.instance.register()
    _require_same(bench, claim, before, "after a restart of the kubelet")


def missing_claim(bench: benches.Bench) -> None:
    """As a pod that was deleted by force with its claim."""
    claim = bench.claim()
    bench.remove(claim)
    _require_refusal(bench, claim, "a claim that is not there")


def replaced_claim(bench: benches.Bench) -> None:
    other = dataclasses.replace(bench.claim(), uid=str(uuid.uuid4()))
    _require_refusal(bench, other, "a claim of another uid")


def unallocated_claim(bench: benches.Bench) -> None:
    _require_refusal(bench, bench.claim(is_allocated=False), "a claim without allocation")


def unreserved_claim(bench: benches.Bench) -> None:
    """The kubelet checks it before it calls."""
    claim = bench.claim(status={"reservedFor": None})
    results.require(bench.refusal(claim), "a claim that no pod has reserved is prepared")


def unknown_device(bench: benches.Bench) -> None:
    """A device may go between the allocation and the call."""
    known = bench.devices.first()[0]
    unknown = allocations.Device(pool=known.pool, name="no-such-device")
    bench.refusal(bench.claim(unknown))
    bench.require_alive("after a claim with an unknown device")


def foreign_results(bench: benches.Bench) -> None:
    row = {"driver": "other.example.com", "pool": "elsewhere", "device": "foreign"}
    claim = bench.claim(more_results=[row])
    names = [item.device for item in bench.prepared(claim, "with a device of another driver, too,")]
    results.require("foreign" not in names, "the answer has a device of another driver")


def _require_same(
    bench: benches.Bench, claim: benches.Claim, before: preparations.Prepared, when: str
) -> None:
    after = bench.prepared(claim, when)
    results.require(
        sorted(after, key=str) == sorted(before, key=str),
        f"Prepare answers {when} with {_text(after)}, and before that with {_text(before)}",
    )
    requirements.require_defined(bench, after, f"when Prepare answers {when}")


def _text(devices: preparations.Prepared) -> str:
    shown = [f"{item.device} ({', '.join(item.cdi_device_ids)})" for item in devices]
    return ", ".join(shown) or "no device"


def _require_refusal(bench: benches.Bench, claim: benches.Claim, what: str) -> None:
    results.require(bench.refusal(claim), f"{what} is prepared")
    bench.require_alive(f"after {what}")
    bench.prepared(bench.claim(*claim.devices), f"after the refusal of {what}")
