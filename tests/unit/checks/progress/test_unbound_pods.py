"""Why pods were not bound: a scheduler that binds none, and selectors that fail on devices."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks.devices import device_catalogue
from harness.checks.progress import unbound_pods
from tests.histories import placements
from tests.histories.placements import claim, device, device_class, exactly, piece, pod

OWN = f"device.attributes['{placements.DRIVER}']"
MISSPELT = f"{OWN}.modle == 'a'"
DEVICES = piece(*(device(f"D{number}", attributes={"model": "a"}) for number in range(28)))
KNOWN = [DEVICES, device_class(f"device.driver == '{placements.DRIVER}'")]
CASES: dict[str, tuple[list[placements.Event], list[str]]] = {
    "an attribute is misspelt": (
        [claim("c", requests=[exactly("r", MISSPELT)]), pod("p")],
        [
            "no pod was bound by the scheduler",
            f"the selector {MISSPELT} fails on 28 devices: no such key: modle",
        ],
    ),
    "by one claim of two": (
        [
            claim("c", requests=[exactly("r", MISSPELT)]),
            claim("d", requests=[exactly("r", f"{OWN}.model == 'a'")]),
            pod("p"),
            pod("q", bound_to="n1"),
        ],
        [f"the selector {MISSPELT} fails on 28 devices: no such key: modle"],
    ),
    "no device is as wished": (
        [claim("c", requests=[exactly("r", f"{OWN}.model == 'b'")]), pod("p")],
        [
            "no pod was bound by the scheduler",
            f"the selector {OWN}.model == 'b' refuses 28 devices",
        ],
    ),
    "the class refuses the others first": (
        [
            piece("E1", "E2", name="other", pool="n2"),
            claim("c", requests=[exactly("r", "device.driver != 'x'", MISSPELT)]),
            pod("p"),
        ],
        [
            "no pod was bound by the scheduler",
            f"the selector {MISSPELT} fails on 30 devices: no such key: modle",
        ],
    ),
    "nothing is known": ([claim("c"), pod("p")], ["no pod was bound by the scheduler"]),
    "all are bound": (
        [claim("c", requests=[exactly("r", MISSPELT)]), pod("p"), pod("p", bound_to="n1")],
        [],
    ),
    "no pod": ([claim("c")], []),
}


def reasons(events: Sequence[placements.Event]) -> list[str]:
    seen, catalogue = unbound_pods.UnboundPods(), device_catalogue.DeviceCatalogue()
    methods = {"ResourceClaim": "claim", "Pod": "pod", "ResourceSlice": "slice"}
    for version, event in enumerate([*KNOWN, *events], start=1):
        method = f"see_{methods.get(event.obj['kind'], 'class')}"
        for folder in (seen, catalogue):
            getattr(folder, method)(placements.observed(event, version))
    return seen.reasons(catalogue)


@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES)
def test_the_reasons_are_named(events: list[placements.Event], expected: list[str]) -> None:
    assert reasons(events) == expected


def of_scheduler(name: str, scheduler: str, message: str = "", **more: Any) -> placements.Event:
    event = pod(name, **more)
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    event.obj["spec"]["schedulerName"] = scheduler
    event.obj["status"]["conditions"] = [condition] if message else []
    return dataclasses.replace(event)


def test_each_scheduler_that_binds_nothing_is_named_with_what_it_says() -> None:
    events = [
        of_scheduler("a", "one", "0/3 nodes\n are available"),
        of_scheduler("b", "one", "0/3 nodes\n are available"),
        of_scheduler("c", "one", "something else"),
        of_scheduler("d", "two", "wait"),
        of_scheduler("d", "two", bound_to="n1"),
        of_scheduler("e", "three"),
    ]
    assert reasons(events) == [
        "no pod was bound by one, which says of 2 of them: 0/3 nodes are available",
        "no pod was bound by three",
    ]
