"""A run takes the scenario of an import; other input is refused with file, document and field."""

import copy
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from harness import errors
from harness.importing import imports
from harness.run import run_plan
from harness.scenario import loading
from tests.unit.importing import found_inputs

OBJECTS = list(yaml.safe_load_all(pathlib.Path(__file__).with_suffix(".yaml").read_text()))
"""Objects of every kind that an import takes, with every part that it reads."""
DEPLOYMENT = """
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ml}
spec:
  replicas: 1
  template:
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
      resourceClaims: [{name: g, resourceClaimTemplateName: one-gpu}]
"""
FEW = hypothesis.settings(max_examples=40, deadline=None, database=None, derandomize=True)


def places(value: Any, *, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value in an object."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*at, key)
        if isinstance(item, dict | list):
            yield from places(item, at=(*at, key))


PLACES = [(number, place) for number, obj in enumerate(OBJECTS) for place in places(obj)]


def imported(files: list[pathlib.Path], folder: pathlib.Path, **options: Any) -> imports.Imported:
    """Import files, and require that a run takes the scenario."""
    found = imports.write(imports.from_files(files), folder, **options)
    run_plan.plan(loading.load(str(folder / "scenario.toml")), seed=1)
    return found


@FEW
@hypothesis.given(
    changed=st.sampled_from(PLACES),
    other=st.sampled_from(["text", 7, ["a"], {"a": "b"}, "renamed"]),
    redacted=st.booleans(),
)
def test_an_object_with_another_part_is_refused_or_runs(
    changed: tuple[int, tuple[Any, ...]], other: Any, *, redacted: bool
) -> None:
    objects = copy.deepcopy(OBJECTS)
    number, (*path, last) = changed
    inner: Any = objects[number]
    for key in path:
        inner = inner[key]
    if other == "renamed" and isinstance(inner, dict):
        inner[f"{last}s"] = inner.pop(last)
    else:
        inner[last] = other
    with tempfile.TemporaryDirectory() as folder:
        files = found_inputs.written(pathlib.Path(folder), yaml.safe_dump_all(objects))
        try:
            imported(files, pathlib.Path(folder) / "mine", redacted=redacted)
        except errors.UsageError as error:
            said = str(error)
            assert "\n" not in said or "makes no scenario" in said
            assert said.startswith((str(files[0]), "what was found", "expected")), said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("devices:", "device:"), 'ResourceSlice node-a-gpu: the API server would refuse it: .* unknown field "spec.device"'),
        (("{name: gpu-0}", "{name: gpu-0, attribute: {}}"), r'unknown field "spec.devices\[0\].attribute"'),
        ((", resourceSliceCount: 1", ""), "spec.pool.resourceSliceCount: Invalid value"),
        (("device.driver ==", "device.drive =="), r"spec.selectors\[0\].cel.expression: Invalid value"),
        (("containers:", "container:"), 'unknown field "spec.template.spec.container"'),
        (("image: i", "image: ''"), r"spec.template.spec.containers\[0\].image: Required value"),
        (("replicas: 1", "replica: 1"), 'unknown field "spec.replica"'),
    ],
)  # fmt: skip
def test_what_an_api_server_would_refuse_is_named(
    tmp_path: pathlib.Path, change: tuple[str, str], said: str
) -> None:
    text = found_inputs.DEVICES + DEPLOYMENT
    assert change[0] in text
    files = found_inputs.written(tmp_path, text.replace(*change))
    with pytest.raises(errors.ManifestError, match=said) as caught:
        imported(files, tmp_path / "mine")
    assert str(caught.value).startswith(f"{files[0]}, document ")
    assert not (tmp_path / "mine").exists()


def test_fields_of_a_newer_release_are_left_out_and_told(tmp_path: pathlib.Path) -> None:
    files = found_inputs.written(tmp_path, found_inputs.NEWER_SLICES)
    found = imported(files, tmp_path / "mine")
    for field in (
        "partitionTypeAttribute",
        "skipNodeOperations",
        "nodeAllocatableResources",
        "compatibilityGroups",
    ):
        assert any(line.startswith(f"left out: {field} of") for line in found.notes)
        assert field not in (tmp_path / "mine" / "slices.yaml").read_text()


def test_a_claim_with_derived_attributes_is_left_out(tmp_path: pathlib.Path) -> None:
    text = found_inputs.DEVICES.replace(
        "{deviceClassName", "{derivedAttributes: [{name: a/b, expression: '1'}], deviceClassName"
    )
    found = imported(found_inputs.written(tmp_path, text), tmp_path / "mine")
    assert (
        "left out: ResourceClaimTemplate one-gpu: derivedAttributes, which 1.36 does not have"
        in found.notes
    )
