"""Log lines of a scheduler: messages, keys and verbosity of kube-scheduler, in both forms."""

import json
import re
from collections.abc import Iterator

import pytest

from harness import concurrency
from harness.subject.telemetry import klog
from harness.subject.tracking import allocated_devices, gathering
from tests.support import api_objects, local_servers, plugin_world, scheduler_worlds

HEAD = re.compile(r"[IE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [a-z_]+\.py:\d+\] ")
BOUND = """
5   pod resource claims                                    pod resourceclaims
6   Starting GatherAllocatedState
6   Finished GatherAllocatedState                          allocatedDevices err
5   Reserved resource in allocation result                 claim uid resourceVersion allocation
5   Assumed object                                         description cacheKey version
5   Removed in-flight claim                                claim uid version
5   reserved                                               pod node resourceclaim
3   Attempting to bind pod to node                         pod node
2   Successfully bound pod to node                         pod node
"""
"""The lines of a pod from the queue to its node, in their order: verbosity, message, keys."""
ASIDE = "6   Observed device allocation                             device claim"
"""Those of other threads meanwhile."""
Row = tuple[str, str, list[str]]


def rows(table: str) -> list[Row]:
    found = []
    for line in table.strip().splitlines():
        verbosity, rest = line.split(maxsplit=1)
        message, *keys = re.split(r" {2,}", rest.strip())
        found.append((verbosity, message, (keys or [""])[0].split()))
    return found


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[scheduler_worlds.World]:
    yield scheduler_worlds.World(server, binders=1)
    concurrency.listen(None)
    klog.use(None)


def logged(world: scheduler_worlds.World, verbosity: int, form: klog.Form) -> list[str]:
    """Bind a pod; return what is logged meanwhile."""
    lines: list[str] = []
    world.add_pod("p")
    klog.use(klog.Logger(verbosity, form, write=lines.append))
    concurrency.listen(klog.KlogLines(objects=world.scheduler.known_objects))
    world.scheduler.start()
    world.wait_bound("p")
    world.scheduler.stop()
    return lines


def test_the_lines_of_a_pod_that_is_bound(world: scheduler_worlds.World) -> None:
    fixed = {"ts", "caller", "msg", "v"}
    found = [
        (str(line["v"]), line["msg"], [key for key in line if key not in fixed])
        for line in map(json.loads, logged(world, 10, "json"))
    ]
    expected = rows(BOUND)
    messages = {row[1] for row in expected}
    assert [row for row in found if row[1] in messages] == expected
    assert {str(row) for row in found if row[1] not in messages} == {*map(str, rows(ASIDE))}


def test_the_lines_of_failures(world: scheduler_worlds.World) -> None:
    bad = [{"cel": {"expression": "device.attributes['x'].missing"}}]
    world.add_pod("error", requests=[api_objects.exactly(selectors=bad)])
    world.server.refuse("POST", "/pods/p/binding", status=500, times=1)
    told = {json.loads(line)["msg"] for line in logged(world, 5, "json")}
    assert {"dynamic resource plugin failed", "Error scheduling pod; retrying"} <= told


def test_the_text_form(world: scheduler_worlds.World) -> None:
    text = "".join(logged(world, 6, "text"))
    uid = world.claim("of-p")["metadata"]["uid"]
    lines = [HEAD.sub("", line) for line in text.splitlines() if HEAD.match(line)]
    device = api_objects.device_id("a")
    for line in (
        '"pod resource claims" pod="default/p" resourceclaims=["default/of-p"]',
        '"Starting GatherAllocatedState"',
        '"Finished GatherAllocatedState" allocatedDevices={"count":0,"devices":[]} err=null',
        f'"Observed device allocation" device="{device}" claim="default/of-p"',
        '"Attempting to bind pod to node" pod="default/p" node="worker-0"',
    ):
        assert line in lines
    assert f'"Reserved resource in allocation result" claim="default/of-p" uid="{uid}" ' in text
    assert ' allocation=<\n\t{\n\t  "devices": {\n' in text
    assert text.count("\t}\n >\n") == 1


@pytest.mark.parametrize(("verbosity", "shown"), [(6, 11), (7, 30)])
def test_a_long_list_of_devices_is_cut_at_verbosity_6(verbosity: int, shown: int) -> None:
    klog.use(klog.Logger(verbosity, "json", write=list[str]().append))
    found = klog.shown(f"d{number:02d}" for number in range(30))
    klog.use(None)
    assert (found["count"], len(found["devices"])) == (30, shown)
    assert found["devices"][0] == "d00"
    assert found["devices"][-1] == "d29"


def test_deleted_claims_keep_their_names() -> None:
    """The device of a claim may be seen as free after the claim is gone."""
    lines: list[str] = []
    known = [{"metadata": {"uid": "1", "namespace": "n", "name": "a"}}]
    share = api_objects.result("a", shareID="s")
    shared = api_objects.claim("c", version=1, allocated={"devices": {"results": [share]}})
    listener = klog.KlogLines(objects=lambda: known)
    klog.use(klog.Logger(6, "json", write=lines.append))
    try:
        listener("allocated-devices.inserted", {"device": "d", "claim": "1"})
        known[:] = [{"metadata": {"uid": "2", "namespace": "n", "name": "b"}}]
        listener("allocated-devices.inserted", {"device": "d", "claim": "2"})
        listener("allocated-devices.removed", {"device": "d", "claim": "1"})
        listener("allocated-devices.removed", {"device": "d", "claim": "unknown"})
        allocated_devices.AllocatedDevices().on_add(shared, initial=True)
    finally:
        klog.use(None)
    told = [(line["v"], line["msg"], line["claim"]) for line in map(json.loads, lines)]
    assert told == [
        (6, "Observed device allocation", "n/a"),
        (6, "Observed device allocation", "n/b"),
        (6, "Observed device deallocation", "n/a"),
        (6, "Observed device deallocation", "unknown"),
        (6, "Observed shared device allocation", "default/c"),
    ]


class Restless(gathering.Gatherer):
    """A gather whose devices change meanwhile."""

    def _is_current(self, revision: int) -> bool:
        return revision < 0


def test_the_lines_of_rare_moments(server: local_servers.LocalServer) -> None:
    lines: list[str] = []
    world = plugin_world.World(server)
    world.claim("c")
    attempt = world.reserved(world.pod())
    klog.use(klog.Logger(6, "json", write=lines.append))
    concurrency.listen(klog.KlogLines(objects=list))
    try:
        Restless(world.allocated, world.flight).attempt()
        world.plugin.unreserve(attempt)
    finally:
        klog.use(None)
        concurrency.listen(None)
    told = [(line["v"], line["msg"]) for line in map(json.loads, lines)]
    assert told == [
        (6, "Starting GatherAllocatedState"),
        (6, "Device is in flight for allocation"),
        (6, "Finished GatherAllocatedState"),
        (6, "Conflicting modification during GatherAllocatedState, trying again"),
        (5, "Removed in-flight claim"),
        (5, "Released resource in allocation result"),
        (5, "Restored object"),
    ]
