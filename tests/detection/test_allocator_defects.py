"""Known defects of the allocator that show in every interleaving: one run of each world is enough.

`test_allocator_defects.yaml` has the worlds.
"""

import dataclasses
import pathlib
from typing import Any

import pytest
import yaml

from harness.apiserver.scheme import resources
from harness.explore.search import explored_run, random_strategies
from harness.explore.worlds import literals, parts, world_fixtures, world_specs

pytestmark = pytest.mark.detection
Object = dict[str, Any]
WORLDS = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yaml").read_text())


@pytest.mark.parametrize("name", WORLDS)
def test_correct_code_grants_what_there_is(name: str) -> None:
    assert granted(WORLDS[name]) == expected(WORLDS[name])


@pytest.mark.parametrize(
    ("name", "defect"), [(name, defect) for name in WORLDS for defect in WORLDS[name]["defects"]]
)
def test_a_defect_grants_something_else(name: str, defect: str) -> None:
    assert granted(WORLDS[name], defect) != expected(WORLDS[name])


def granted(given: Object, *defects: str) -> list[object] | str:
    """Return what the claims get in the end, as far as the table tells it, or how it failed."""
    replay = random_strategies.Replay(())
    run = explored_run.explore_once(world(given), replay, defects=defects, record=True)
    claims: dict[str, Object] = {}
    for _, commit in run.commits:
        if commit.resource is resources.CLAIMS:
            claims[commit.object.name] = commit.object.document().get("status", {})
    return run.finding or [
        told(claims[f"claim-{number}"], is_whole=isinstance(wanted, dict))
        for number, wanted in enumerate(given["granted"], start=1)
    ]


def told(status: Object, *, is_whole: bool) -> object:
    if "allocation" not in status:
        return None
    devices = status["allocation"]["devices"]
    if not is_whole:
        return [item["device"] for item in devices["results"]]
    copied = [{key: it[key] for key in it if key != "source"} for it in devices.get("config", ())]
    return {"results": devices["results"], "config": copied}


def expected(given: Object) -> list[object]:
    return [
        {**wanted, "results": [*map(result, wanted["results"])]}
        if isinstance(wanted, dict)
        else wanted
        for wanted in given["granted"]
    ]


def world(given: Object) -> world_specs.WorldSpec:
    held = [
        {"status": {"allocation": {"devices": {"results": [result(row)]}}}}
        for row in given.get("held", ())
    ]
    asked = [
        {"spec": {"devices": {**devices, "requests": [*map(request, devices["requests"])]}}}
        for devices in given["asked"]
    ]
    claims = [{**world_fixtures.claim(f"held-{n}"), **more} for n, more in enumerate(held)]
    claims += [{**world_fixtures.claim(f"claim-{n}"), **more} for n, more in enumerate(asked, 1)]
    made = [
        literals.there(*(piece for pool in given["pools"] for piece in slices(**pool))),
        *map(literals.there, claims),
        *([literals.does(*given["later"])] if "later" in given else []),
        *(dataclasses.replace(pod, when=parts.AT_REST) for pod in literals.pods(len(asked))),
    ]
    nodes = [f"worker-{n}" for n in range(given.get("nodes", 1))]
    return literals.spec("", made, oracles=(), at_rest=(), node_names=nodes, binders=1)


def result(row: Object) -> Object:
    place = {"driver": world_fixtures.DRIVER, "pool": world_fixtures.NODE}
    return {"request": "device", **place, **row}


def request(given: Object) -> Object:
    if "firstAvailable" in given:
        return given
    name, exactly = given.get("name", "device"), {key: given[key] for key in given if key != "name"}
    return {"name": name, "exactly": {"deviceClassName": world_fixtures.DEVICE_CLASS, **exactly}}


def slices(*, devices: list[Object], counters: object = None, **spec: Any) -> list[Object]:
    made = [device(**item) for item in devices]
    if counters is None:
        return [world_fixtures.pool(made, **spec)]
    return world_fixtures.counted_pool(
        made, [{"name": "whole", "counters": amount(counters)}], **spec
    )


def device(*, memory: object = None, **given: Any) -> Object:
    if memory is None:
        return given
    return {**given, "consumesCounters": [{"counterSet": "whole", "counters": amount(memory)}]}


def amount(value: object) -> Object:
    return {"memory": {"value": str(value)}}
