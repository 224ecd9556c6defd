"""Log lines of the claim controller (`-v`): messages, keys and verbosity of upstream's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.client import apis
from harness.subject.telemetry import klog
from tests.support import api_objects, controller_worlds, local_servers

Object = dict[str, Any]
Row = tuple[int, str, frozenset[str]]
COUNTS = "currentCount claim updatedCount builtinController"
LINES = {
    (4, "Created ResourceClaim"): "claim pod",
    (5, "Claim already created"): "pod podClaim",
    (5, "Claim reserved for counts"): COUNTS,
    (5, "Reserved claim for pod"): "pod resourceClaim",
    (5, "Deleted unused generated claim"): "claim pod",
    (6, "enqueing new or updated claim"): "claim key",
    (6, "not enqueing deleted claim"): "claim",
    (6, "remove reservation because pod will not run anymore"): "pod claim",
    (6, "remove reservation because pod is gone or got replaced"): "pod claim",
    (6, "remove reservation because pod got replaced with new instance"): "pod claim",
}


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """The lines that are logged, at every verbosity."""
    written: list[str] = []
    klog.use(klog.Logger(10, "json", write=written.append))
    yield written
    klog.use(None)


def rows(lines: list[str]) -> set[Row]:
    known = ("ts", "caller", "msg", "v")
    found = [json.loads(line) for line in lines]
    return {
        (item["v"], item["msg"], frozenset(key for key in item if key not in known))
        for item in found
    }


def knows_reservation(lines: list[str], name: str) -> bool:
    """Return whether the controller has synced the claim with its reservation.

    That the API server has the reservation is not enough: a sync that does not know it yet deletes
    the claim of an ended pod without a word about the reservation.
    """
    found = [json.loads(line) for line in lines]
    return any(
        item["claim"] == f"default/{name}" and item["currentCount"] == 1
        for item in found
        if item["msg"] == "Claim reserved for counts"
    )


def test_what_the_controller_does_is_logged(
    server: local_servers.LocalServer, lines: list[str]
) -> None:
    with controller_worlds.running(server) as world:
        world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
        pod = world.put(apis.PODS, api_objects.pod("p", templates=["x"], node="worker-0"))
        old = {**pod, "metadata": {**pod["metadata"], "uid": "of-another-one"}}
        gone = {**pod, "metadata": {**pod["metadata"], "name": "gone", "uid": "gone"}}
        world.allocated("replaced", old)
        world.allocated("gone", gone)
        world.start()
        name = str(world.wait_recorded()["x"])
        claim = world.claim(name) or {}
        world.api.update_status(
            apis.CLAIMS, {**claim, "status": {"allocation": api_objects.allocation("a")}}
        )
        world.wait(lambda: knows_reservation(lines, name), "the reservation")
        current = world.pod()
        ended = {**current, "status": {**current["status"], "phase": "Succeeded"}}
        world.api.update_status(apis.PODS, ended)
        world.wait(lambda: world.claim(name) is None, "the claim to be deleted")
        world.settle()
    seen = rows(lines)
    expected = {(level, text, frozenset(keys.split())) for (level, text), keys in LINES.items()}
    assert expected <= seen
    assert {text for _, text, _ in seen} == {text for _, text in LINES}


def test_nothing_is_logged_above_the_verbosity(server: local_servers.LocalServer) -> None:
    written: list[str] = []
    klog.use(klog.Logger(4, "text", write=written.append))
    try:
        with controller_worlds.running(server) as world:
            world.put(apis.CLAIM_TEMPLATES, api_objects.template("x"))
            world.put(apis.PODS, api_objects.pod("p", templates=["x"]))
            world.start()
            world.wait_recorded()
    finally:
        klog.use(None)
    (line,) = written
    assert '"Created ResourceClaim" claim="default/p-x-' in line
    assert 'pod="default/p"' in line
