"""Log lines of a scheduler: messages, keys and verbosity of kube-scheduler, in both forms."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from harness import concurrency
from harness.subject.telemetry import klog
from harness.subject.tracking import gathering
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
ASIDE = """
6   Observed device allocation                             device claim
"""
"""Those of other threads meanwhile."""
FAILED = """
6   Observed device deallocation                           device claim
-   dynamic resource plugin failed                         err pod
-   Error scheduling pod; retrying                         err pod
5   retrying update after conflict                         claim
5   Released resource in allocation result                 claim uid resourceVersion allocation
5   Restored object                                        description cacheKey
5   Claim not stored in assume cache                       err
5   Redundant remove of in-flight claim, not found         uid
6   Device is in flight for allocation                     device claim
6   Observed shared device allocation                      shared device|claim
6   Conflicting modification during GatherAllocatedState, trying again
"""
"""Those of what can go wrong. An error has no verbosity."""
Row = tuple[str, str, list[str]]


def rows(table: str) -> list[Row]:
    found = []
    for line in table.strip().splitlines():
        verbosity, rest = line.split(maxsplit=1)
        message, *keys = re.split(r" {2,}", rest.strip())
        names = (keys or [""])[0]
        found.append((verbosity, message, names.split("|") if "|" in names else names.split()))
    return found


class World(scheduler_worlds.World):
    """A scheduler and its log."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        super().__init__(server, binders=1, backoff_initial_s=0.01, backoff_max_s=10.0)
        self.lines: list[str] = []

    def log(self, verbosity: int, form: klog.Form) -> None:
        klog.use(klog.Logger(verbosity, form, write=self.lines.append))
        concurrency.listen(klog.KlogLines(objects=self.scheduler.known_objects))

    def run(self, verbosity: int, form: klog.Form) -> list[str]:
        self.add_pod("p")
        self.log(verbosity, form)
        self.scheduler.start()
        self.wait_bound("p")
        self.scheduler.stop()
        return self.lines

    def wait_line(self, message: str) -> None:
        self.wait(lambda: any(row[1] == message for row in self.rows()), message)

    def rows(self) -> list[Row]:
        return as_rows([json.loads(line) for line in list(self.lines)])


def as_rows(documents: Iterable[dict[str, Any]]) -> list[Row]:
    fixed = {"ts", "caller", "msg", "v"}
    return [
        (str(item.get("v", "-")), item["msg"], [key for key in item if key not in fixed])
        for item in documents
    ]


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    yield World(server)
    concurrency.listen(None)
    klog.use(None)


def test_the_lines_of_a_pod_that_is_bound(world: World) -> None:
    world.run(10, "json")
    expected, logged = rows(BOUND), world.rows()
    messages = {row[1] for row in expected}
    assert [row for row in logged if row[1] in messages] == expected
    assert sorted({str(row) for row in logged if row[1] not in messages}) == sorted(
        map(str, rows(ASIDE))
    )


def test_the_lines_of_failures(world: World) -> None:
    """Each kind of failure once; every line of one has the message, keys and verbosity."""
    world.add_pod("waits", allocated=api_objects.allocation("b", node="elsewhere"))
    world.add_pod("error", requests=[api_objects.exactly(selectors=BAD)])
    world.log(7, "json")
    world.server.refuse("PUT", "/resourceclaims/of-p/status", status=409, times=1)
    world.server.refuse("POST", "/pods/p/binding", status=500, times=1)
    world.scheduler.start()
    world.wait_line("Observed device deallocation")
    world.wait_line("dynamic resource plugin failed")
    world.add_pod("p")
    world.wait_bound("p")
    world.scheduler.stop()
    require_known(
        world.rows(),
        "Observed device deallocation",
        "dynamic resource plugin failed",
        "Error scheduling pod; retrying",
        "retrying update after conflict",
    )


BAD = [{"cel": {"expression": "device.attributes['x'].missing"}}]


def require_known(logged: list[Row], *messages: str) -> None:
    known = {row[1]: row for table in (BOUND, ASIDE, FAILED) for row in rows(table)}
    for row in logged:
        if row[1] in known:
            assert row == known[row[1]]
    assert set(messages) <= {row[1] for row in logged}


class Restless(gathering.Gatherer):
    """A gather whose devices change meanwhile."""

    def _is_current(self, revision: int) -> bool:
        return revision < 0


def test_the_lines_of_rare_moments(server: local_servers.LocalServer) -> None:
    lines: list[str] = []
    world = plugin_world.World(server)
    world.claim("c")
    world.claim("other")
    attempt = world.reserved(world.pod())
    klog.use(klog.Logger(7, "json", write=lines.append))
    concurrency.listen(klog.KlogLines(objects=list))
    try:
        Restless(world.allocated, world.flight).attempt()
        world.cache.on_delete(attempt.claims[0])
        world.binder.bind(attempt)  # the cache does not know the claim any more
        world.flight.remove("unknown")
        world.plugin.unreserve(world.reserved(world.pod("q", "other")))
    finally:
        klog.use(None)
        concurrency.listen(None)
    logged = [json.loads(line) for line in lines]
    require_known(
        as_rows(logged),
        "Device is in flight for allocation",
        "Conflicting modification during GatherAllocatedState, trying again",
        "Claim not stored in assume cache",
        "Redundant remove of in-flight claim, not found",
        "Released resource in allocation result",
        "Restored object",
    )


def test_the_lines_of_shares(server: local_servers.LocalServer) -> None:
    lines: list[str] = []
    share = api_objects.result("a", shareID="s", consumedCapacity={"memory": "1Gi"})
    shared = api_objects.claim("c", version=1, allocated={"devices": {"results": [share]}})
    world = plugin_world.World(server)
    klog.use(klog.Logger(6, "json", write=lines.append))
    try:
        world.allocated.on_add(shared, initial=True)
    finally:
        klog.use(None)
    logged = [json.loads(line) for line in lines]
    require_known(
        as_rows(logged),
        "Observed shared device allocation",
    )
    assert logged[0]["shared device"] == f"{api_objects.device_id('a')}/s"


def test_the_text_form(world: World) -> None:
    text = "".join(world.run(6, "text"))
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


def test_callers_are_the_code_that_logs(world: World) -> None:
    callers = {
        json.loads(line)["msg"]: json.loads(line)["caller"].partition(":")[0]
        for line in world.run(6, "json")
    }
    assert callers["Successfully bound pod to node"] == "binding_cycle.py"


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
    listener = klog.KlogLines(objects=lambda: known)
    klog.use(klog.Logger(6, "json", write=lines.append))
    try:
        listener("allocated-devices.inserted", {"device": "d", "claim": "1"})
        known[:] = [{"metadata": {"uid": "2", "namespace": "n", "name": "b"}}]
        listener("allocated-devices.inserted", {"device": "d", "claim": "2"})
        listener("allocated-devices.removed", {"device": "d", "claim": "1"})
        listener("allocated-devices.removed", {"device": "d", "claim": "unknown"})
    finally:
        klog.use(None)
    claims = [json.loads(line)["claim"] for line in lines]
    assert claims == ["n/a", "n/b", "n/a", "unknown"]
