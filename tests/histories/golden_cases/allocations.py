"""The golden run directories for the checks of allocations and of bindings."""

from collections.abc import Sequence
from typing import Any

from harness.checks.claims import bound_pods
from harness.checks.devices import granted_devices, reachable_devices, requested_devices
from harness.checks.observed import observations
from tests.histories import placements, recording
from tests.histories.golden_cases.case import Case
from tests.histories.placements import (
    claim,
    device,
    device_class,
    exactly,
    node,
    on,
    piece,
    pod,
    result,
)

Object = dict[str, Any]
Events = Sequence[placements.Event]
OBSERVED = [
    observations.CLAIMS,
    observations.PODS,
    observations.SLICES,
    observations.CLASSES,
    observations.NODES,
]
NUMA = f"{placements.DRIVER}/numa"
D1, D2 = (device(name, attributes={"numa": numa}) for numa, name in enumerate(["D1", "D2"]))
WORLD = [node("n1"), node("n2"), device_class(), piece(D1, D2)]
PLAIN = claim("c", result("D1"), selector=on("n1"))
NOTHING = [claim("c"), pod("p", "c")]
"""A claim that is never allocated, and a pod that is never bound."""
WANTS_D2 = [exactly("r", f"device.attributes['{placements.DRIVER}'].numa == 1")]
TOLERATIONS = [{"key": "old", "operator": "Exists"}]
TOLERANT = [exactly(tolerations=TOLERATIONS)]
TWO = [exactly("r"), exactly("q")]
BOTH = (result("D1"), result("D2", request="q"))


def _cases(check: str, *, valid: Events, invalid: Events, **settings: Any) -> list[Case]:
    """One directory of each verdict; of the last one, nothing can be examined."""
    histories = {"VALID": valid, "INVALID": invalid, "UNKNOWN-nothing": NOTHING}
    plan = {"resources": OBSERVED, "settings": {"name": check, **settings}}
    return [
        Case(check=check, name=name, commits=[*map(_commit, [*WORLD, *events])], plan=plan)
        for name, events in histories.items()
    ]


def _commit(event: placements.Event) -> recording.Commit:
    resource = placements.RESOURCES[event.obj["kind"]]
    return recording.Commit(resource, event.obj, gone=event.type == "DELETED")


def _claim(*results: Object, selector: Object | None = None, **fields: Any) -> placements.Event:
    return claim("c", *results, selector=selector or on("n1"), **fields)


CASES: Sequence[Case] = (
    *_cases(reachable_devices.EXISTING_DEVICES.name, valid=[PLAIN], invalid=[_claim(result("D3"))]),
    *_cases(
        requested_devices.SELECTED_DEVICES.name,
        valid=[_claim(result("D2"), requests=WANTS_D2)],
        invalid=[_claim(result("D1"), requests=WANTS_D2)],
    ),
    *_cases(
        requested_devices.CLAIM_CONSTRAINTS.name,
        valid=[_claim(*BOTH, requests=TWO, constraints=[{"distinctAttribute": NUMA}])],
        invalid=[_claim(*BOTH, requests=TWO, constraints=[{"matchAttribute": NUMA}])],
        claims=[{"constraints": [{"match_attribute": "numa"}]}],
    ),
    *_cases(
        requested_devices.REQUESTED_RESULTS.name,
        valid=[_claim(*BOTH, requests=TWO)],
        invalid=[_claim(BOTH[0], requests=TWO)],
    ),
    *_cases(
        granted_devices.GRANTED_ACCESS.name,
        valid=[
            PLAIN,
            claim(
                "d",
                result("D1", adminAccess=True),
                selector=on("n1"),
                requests=[exactly(adminAccess=True)],
            ),
        ],
        invalid=[PLAIN, claim("d", result("D1", adminAccess=True), selector=on("n1"))],
    ),
    *_cases(
        granted_devices.GRANTED_SHARES.name,
        valid=[PLAIN],
        invalid=[_claim(result("D1", shareID="1"))],
    ),
    *_cases(
        granted_devices.COPIED_RESULTS.name,
        valid=[_claim(result("D1", tolerations=TOLERATIONS), requests=TOLERANT)],
        invalid=[_claim(result("D1"), requests=TOLERANT)],
    ),
    *_cases(
        reachable_devices.REACHABLE_DEVICES.name,
        valid=[PLAIN],
        invalid=[_claim(result("D1"), selector=on("n1", "n2"))],
    ),
    *_cases(
        granted_devices.DISTINCT_DEVICES.name,
        valid=[_claim(*BOTH, requests=TWO)],
        invalid=[_claim(BOTH[0], result("D1", request="q"), requests=TWO)],
    ),
    *_cases(
        bound_pods.CHECK.name,
        valid=[pod("p", "c"), _claim(result("D1"), users=["p"]), pod("p", "c", bound_to="n1")],
        invalid=[pod("p", "c"), _claim(result("D1"), users=["p"]), pod("p", "c", bound_to="n2")],
    ),
)
