"""A pod waits rightly where CPU, memory or places are used up."""

from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.progress import claim_progress
from tests.histories import worlds

Object = dict[str, Any]
INVALID, UNKNOWN = verdicts.Verdict.INVALID, verdicts.Verdict.UNKNOWN


def asking(pod: Object, **requests: str) -> Object:
    container = {"name": "c", "resources": {"requests": requests}}
    return {**pod, "spec": {**pod["spec"], "containers": [container]}}


def node(**allocatable: str) -> Object:
    return {**worlds.node("n"), "status": {"allocatable": allocatable}}


RUNNING = worlds.pod("q", claim="b", phase="Running", node="n")
ENDED = worlds.pod("q", claim="b", phase="Succeeded", node="n")


@pytest.mark.parametrize(
    ("requests", "nodes", "other", "verdict"),
    [
        ({}, [], RUNNING, INVALID),
        ({}, [node(cpu="1", pods="10")], RUNNING, INVALID),
        ({"cpu": "1"}, [], RUNNING, UNKNOWN),
        ({"cpu": "1"}, [node()], RUNNING, UNKNOWN),
        ({"cpu": "1"}, [node(cpu="1", pods="10")], RUNNING, INVALID),
        ({"cpu": "1001m"}, [node(cpu="1", pods="10")], RUNNING, UNKNOWN),
        ({"cpu": "1"}, [node(cpu="1500m", pods="10")], asking(RUNNING, cpu="500m"), INVALID),
        ({"cpu": "1"}, [node(cpu="1500m", pods="10")], asking(RUNNING, cpu="501m"), UNKNOWN),
        ({"memory": "1Gi"}, [node(cpu="1", pods="10")], RUNNING, UNKNOWN),
        ({}, [node(cpu="1", pods="1")], RUNNING, UNKNOWN),
        ({}, [node(cpu="1", pods="1")], ENDED, INVALID),
        ({"e.example/x": "1"}, [node(cpu="1", pods="10")], RUNNING, INVALID),
    ],
)
def test_a_pod_may_lack_room(
    requests: dict[str, str], nodes: list[Object], other: Object, verdict: verdicts.Verdict
) -> None:
    world = worlds.World(
        pods=[asking(worlds.pod("p", claim="a"), **requests), other],
        claims=[worlds.claim("a")],
        slices=[worlds.devices_of("n", 1)],
        nodes=nodes,
    )
    given = worlds.judged(world, plan=worlds.plan(), phases=worlds.phases(seconds=60))
    assert claim_progress.check(given).verdict is verdict
