"""Workloads become files: together what shares a claim, and only what a run can make."""

import functools
import operator
import pathlib
from typing import Any

import pytest
import yaml

from harness.importing import imports, materials, workload_sets
from tests.support import cases
from tests.unit.importing import found_inputs

DAEMON = cases.read(__file__, "imported")[1]["objects"][0]
A_NODE = "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n"


def titles(case: Any) -> str:
    return str(case["title"])


@pytest.mark.parametrize("case", cases.read(__file__, "divided"), ids=titles)
def test_objects_are_divided_into_files(case: dict[str, Any]) -> None:
    found = materials.Materials()
    found.add(case["objects"])
    found.complete()
    sets = workload_sets.divide(found)
    names = {one.name: [obj["metadata"]["name"] for obj in one.objects] for one in sets}
    assert names == case["files"]
    assert found.notes.lines == case["notes"]


def imported(folder: pathlib.Path, *documents: str) -> tuple[dict[str, Any], list[str]]:
    """Return the workloads and PodGroups of an import by kind and name, and its notes."""
    files = found_inputs.written(folder, *documents)
    made = imports.write(imports.from_files(files), folder / "mine")
    others = ("scenario.toml", "slices.yaml", "slices.json", "classes.yaml")
    texts = [path.read_text() for path in made.files if path.name not in others]
    objects = [obj for text in texts for obj in yaml.safe_load_all(text)]
    workloads = {f"{obj['kind']} {obj['metadata']['name']}": obj for obj in objects}
    return {name: obj for name, obj in workloads.items() if "Claim" not in name}, [*made.notes]


def _documents(*objects: dict[str, Any]) -> str:
    in_ml = [{**obj, "metadata": {**obj["metadata"], "namespace": "ml"}} for obj in objects]
    return yaml.safe_dump_all(in_ml, explicit_start=True)


@pytest.mark.parametrize("case", cases.read(__file__, "imported"), ids=titles)
def test_workloads_are_imported(case: dict[str, Any], tmp_path: pathlib.Path) -> None:
    of_node = f"{found_inputs.DEVICES.partition('---')[0]}{A_NODE}---\n"
    nodes = [of_node.replace("node-a", f"node-{number}") for number in range(case.get("nodes", 1))]
    rest = found_inputs.DEVICES.partition("---\n")[2]
    made, notes = imported(tmp_path, *nodes, rest, _documents(*case["objects"]))
    assert made.keys() == case["made"].keys()
    for name, values in case["made"].items():
        for path, value in values.items():
            assert functools.reduce(operator.getitem, path.split("."), made[name]) == value
    assert {*case.get("notes", ())} <= {*notes}


def test_monitors_may_have_admin_access(tmp_path: pathlib.Path) -> None:
    devices = found_inputs.DEVICES.replace(
        "{deviceClassName", "{adminAccess: true, deviceClassName"
    )
    made, _ = imported(tmp_path, devices, _documents(DAEMON))
    assert [*made] == ["DaemonSet w"]
