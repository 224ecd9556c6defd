"""Log lines of a scheduler at work, in both forms."""

import json
import re
from collections.abc import Iterator

import pytest

from harness import clocks, concurrency
from harness.client import apis
from harness.subject import schedulers
from harness.subject.telemetry import klog_lines
from tests.support import api_objects, local_servers

TIMEOUT_S = 30.0
HEAD = re.compile(r"I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [a-z_]+\.py:\d+\] ")


class World:
    """A scheduler with one pod to bind, and what it logs."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.lines: list[str] = []
        self.server, self.api = server, apis.Api(server)
        for resource, obj in (
            (apis.DEVICE_CLASSES, api_objects.device_class()),
            (apis.NODES, api_objects.node()),
            (apis.SLICES, api_objects.slice_of("a")),
            (apis.CLAIMS, api_objects.claim("c")),
            (apis.PODS, api_objects.pod("p", use=["c"])),
        ):
            local_servers.put(server, resource, obj)
        self.scheduler = schedulers.Scheduler(self.api, schedulers.SchedulerOptions(binders=1))

    def run(self, verbosity: int, form: klog_lines.Form) -> list[str]:
        """Bind the pod, and return the lines."""
        concurrency.listen(
            klog_lines.KlogLines(
                verbosity, form, objects=self.scheduler.known_objects, write=self.lines.append
            )
        )
        self.scheduler.start()
        clocks.wait_until(
            lambda: self.api.get(apis.PODS, "p", namespace="default")["spec"].get("nodeName"),
            timeout_s=TIMEOUT_S,
            why="the pod to be bound",
        )
        self.scheduler.stop()
        return self.lines


@pytest.fixture
def world(server: local_servers.LocalServer) -> Iterator[World]:
    yield World(server)
    concurrency.listen(None)


def test_the_text_form(world: World) -> None:
    lines = world.run(6, "text")
    assert all(HEAD.match(line) and line.endswith("\n") for line in lines)
    texts = [HEAD.sub("", line).rstrip("\n") for line in lines]
    uid = world.api.get(apis.CLAIMS, "c", namespace="default")["metadata"]["uid"]
    ordered = [
        '"Attempting to schedule pod" pod="default/p"',
        '"Starting GatherAllocatedState"',
        '"Finished GatherAllocatedState" count=0',
        f'"Added in-flight claim" claim="default/c" uid="{uid}"',
        f'"Claim stored in assume cache" claim="default/c" uid="{uid}"',
        f'"Removed in-flight claim" claim="default/c" uid="{uid}"',
        '"Attempting to bind pod to node" pod="default/p"',
        '"Successfully bound pod to node" pod="default/p" node="worker-0"',
    ]
    assert [text for text in texts if text in ordered] == ordered
    device = api_objects.device_id("a")
    assert f'"Observed device allocation" device="{device}" claim="default/c"' in texts


def test_the_json_form(world: World) -> None:
    documents = [json.loads(line) for line in world.run(5, "json")]
    bound = documents[-1]
    assert (bound["msg"], bound["v"]) == ("Successfully bound pod to node", 2)
    assert (bound["pod"], bound["node"]) == ("default/p", "worker-0")
    assert re.fullmatch(r"binding_cycle\.py:\d+", bound["caller"])
    assert max(document["v"] for document in documents) == 5


def test_a_low_verbosity_leaves_out_what_is_above_it(world: World) -> None:
    messages = [json.loads(line)["msg"] for line in world.run(2, "json")]
    assert messages == ["Successfully bound pod to node"]


def test_a_redundant_remove_has_its_own_words() -> None:
    lines: list[str] = []
    listener = klog_lines.KlogLines(5, "json", objects=list, write=lines.append)
    listener("in-flight.removed", {"claim": "uid-1", "found": False})
    (document,) = map(json.loads, lines)
    assert document["msg"] == "Redundant remove of in-flight claim, not found"
    assert document["uid"] == "uid-1"
