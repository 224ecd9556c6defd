"""One version of an object: what two witnesses must have in common."""

import random
from typing import Any

import pytest

from harness.checks.witness import object_states

META = {"name": "a", "uid": "uid-a", "resourceVersion": "1"}


def state(form: str = "v1", **fields: Any) -> object_states.State:
    return object_states.of({"apiVersion": form, "metadata": META, **fields})


@pytest.mark.parametrize(
    ("one", "two", "differing"),
    [
        (state(), state(spec={"a": 1}), ["spec"]),
        (state(), state(form="", spec={"a": 1}), ["spec"]),
        (state(form=""), state(spec={"a": 1}), ["spec"]),
        (state(form=""), state(form="", spec={"a": 1}), ["spec"]),
        (state(), state(form="v2", spec={"a": 1}), []),
        (state(), state(form="v2", spec={"nodeName": "n"}), ["status"]),
        (state(), state(spec={"nodeName": "n"}), ["spec"]),
        (state(), state(status={"phase": "Running"}), ["status"]),
    ],
)
def test_only_another_version_of_the_api_excuses_other_fields(
    one: object_states.State, two: object_states.State, differing: list[str]
) -> None:
    assert one.differing(two) == differing
    assert two.differing(one) == differing


EXACT = {"deviceClassName": "c", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}
NEW = {"devices": {"requests": [{"name": "r", "exactly": EXACT}], "config": []}}
OLD = {"devices": {"requests": [{"name": "r", **EXACT, "adminAccess": None}], "config": []}}
OTHER = {"devices": {"requests": [{"name": "r", **EXACT, "count": 3}], "config": []}}
CHOICE = {"devices": {"requests": [{"name": "r", "firstAvailable": [{"name": "s", **EXACT}]}]}}


@pytest.mark.parametrize("version", ["v1alpha3", "v1beta1", "v1beta2"])
def test_older_versions_of_claims_are_compared_as_the_newest_one(version: str) -> None:
    new, form = state("resource.k8s.io/v1", spec=NEW), f"resource.k8s.io/{version}"
    for spec in (NEW, OLD):
        assert not new.differing(state(form, spec=spec))
        assert not state("", spec=spec).differing(new)
    assert new.differing(state(form, spec=OTHER)) == ["spec"]
    assert new.differing(state(form, spec=OLD, status={"reservedFor": [{}]})) == ["status"]
    assert not state("resource.k8s.io/v1", spec=CHOICE).differing(state(form, spec=CHOICE))


def test_the_devices_of_an_allocation_are_in_order() -> None:
    results = [{"driver": "d", "pool": "p", "device": f"D{number:02}"} for number in range(20)]
    names = tuple(f"d/p/{item['device']}" for item in results)
    random.Random(1).shuffle(results)
    assert state(status={"allocation": {"devices": {"results": results}}}).held == names
