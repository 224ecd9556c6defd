"""Objects that are none of their kind are refused in one sentence, with the place."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from harness import errors
from harness.importing import devices, materials, outlines, redaction, workload_sets
from harness.manifests import sources
from tests.unit.importing import examples

OBJECTS = list(examples.objects())


def used(objects: list[Any]) -> None:
    """Do with objects what an import does."""
    made = (sources.Manifest(obj=obj, source=sources.Source(path="f.yaml")) for obj in objects)
    found = materials.Materials()
    found.add(outlines.checked(made))
    devices.complete(found)
    redaction.Redaction(found.notes).apply(found, workload_sets.divide(found))


def places(value: Any, *, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value in an object."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*at, key)
        if isinstance(item, dict | list):
            yield from places(item, at=(*at, key))


@pytest.mark.parametrize("number", range(len(OBJECTS)), ids=lambda n: OBJECTS[n]["kind"])
@pytest.mark.parametrize(
    "other", ["text", 7, ["a"], {"a": "b"}], ids=["text", "int", "list", "map"]
)
def test_another_value_at_any_place_is_used_or_refused(number: int, other: Any) -> None:
    said = [why for changed in variants(number, other) if (why := refusal(changed))]
    assert said
    assert not [why for why in said if "\n" in why or not why.startswith("f.yaml, document 1: ")]


def variants(number: int, other: Any) -> Iterator[list[Any]]:
    """Yield all objects, with another value at one place of one of them."""
    for place in places(OBJECTS[number]):
        if place[0] not in ("spec", "status") and place[:2] != ("metadata", "labels"):
            continue  # what has these is looked at while files are read
        changed = copy.deepcopy(OBJECTS)
        inner = changed[number]
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = other
        yield changed


def refusal(objects: list[Any]) -> str:
    """Return why objects are refused; empty: they are used."""
    try:
        used(objects)
    except errors.UsageError as error:
        return str(error)
    return ""


def test_the_field_is_named() -> None:
    obj = yaml.safe_load(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, "
        "spec: {driver: d, pool: {name: p}, devices: [{name: 1}]}}"
    )
    with pytest.raises(errors.ManifestError) as caught:
        used([obj])
    assert str(caught.value) == (
        "f.yaml, document 1: ResourceSlice s: spec.devices[0].name: expected `str`, got `int`"
    )
