"""Why pods were not bound: the schedulers that bind none, with what they say of it."""

from typing import Any

import pytest

from harness.checks.evidence import contention
from tests.histories import placements
from tests.histories.placements import pod


def of_scheduler(name: str, scheduler: str, message: str = "", **more: Any) -> placements.Event:
    event = pod(name, **more)
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    ready = {"type": "Ready", "status": "False", "message": "not ready"}
    event.obj["spec"]["schedulerName"] = scheduler
    event.obj["status"]["conditions"] = [ready, condition] if message else [ready]
    return event


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([pod("p")], ["no pod was bound by the scheduler"]),
        ([pod("p"), pod("p", bound_to="n1")], []),
        ([pod("p"), pod("q", bound_to="n1")], []),
        (
            [
                of_scheduler("a", "one", "0/3 nodes\n are available"),
                of_scheduler("b", "one", "0/3 nodes\n are available"),
                of_scheduler("b", "one"),
                of_scheduler("c", "one", "something else"),
                of_scheduler("d", "two", "wait"),
                of_scheduler("d", "two", bound_to="n1"),
                of_scheduler("e", "three"),
            ],
            [
                "no pod was bound by one, which says of 2 of them: 0/3 nodes are available",
                "no pod was bound by three",
            ],
        ),
    ],
)
def test_schedulers_that_bind_nothing_are_named(
    events: list[placements.Event], expected: list[str]
) -> None:
    seen = contention.UnboundPods()
    for version, event in enumerate(events, start=1):
        seen.see_pod(placements.observed(event, version))
    assert [*seen.reasons()] == expected
