"""The pod for which a claim was generated, and who wrote what of an object."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks.observed import field_managers, observed_metadata


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        (None, None),
        ([{"uid": "p", "kind": "Pod", "controller": True}], "p"),
        ([{"uid": "p", "kind": "Pod"}], None),
        ([{"uid": "j", "kind": "Job", "controller": True}], None),
        ([{"uid": "j", "kind": "Job"}, {"uid": "p", "kind": "Pod", "controller": True}], "p"),
    ],
)
def test_a_claim_was_generated_for_the_pod_that_controls_it(
    owners: list[dict[str, Any]] | None, owner: str | None
) -> None:
    meta = {"name": "x", "uid": "u", "resourceVersion": "7", "ownerReferences": owners}
    assert msgspec.convert(meta, observed_metadata.Meta).owner == owner


def _managed(manager: str, *path: str, **more: str) -> dict[str, Any]:
    owned: dict[str, Any] = {}
    for name in reversed(path):
        owned = {name: owned}
    return {"manager": manager, "fieldsV1": owned, **more}


ALLOCATION = ("f:status", "f:allocation")
MANAGED = [
    _managed("first", *ALLOCATION, subresource="status"),
    _managed("user", "f:spec"),
    _managed("last", *ALLOCATION, subresource="status"),
    _managed("other", "f:status", "f:conditions", 'k:{"type":"Ready"}'),
]


def test_who_has_written_a_field() -> None:
    content = json.dumps(MANAGED).encode()
    assert field_managers.creator(content) == "user"
    assert field_managers.owner(content, "status", "allocation") == "last"
    assert field_managers.owner(content, "status", "devices") == ""
    assert field_managers.of_condition(content, "Ready") == "other"
    assert field_managers.of_condition(content, "Synced") == ""
    assert [field_managers.owner(it, "spec") for it in (b"", b"null", b"[1]", b"\xff")] == [""] * 4


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (_managed("m", "f:metadata", "f:labels"), False),
        (_managed("m", "f:spec"), False),
        (_managed("m", "f:metadata", "f:finalizers"), True),
        (_managed("m", "f:status"), True),
        (_managed("m", "f:metadata", subresource="status"), True),
    ],
)
def test_what_says_more_than_labels_and_a_spec(entry: dict[str, Any], says: bool) -> None:
    now = msgspec.convert(entry, field_managers.Entry)
    assert field_managers.says_more(now) is says


def test_a_manager_that_wrote_owns_no_more_only_if_it_wrote_nothing_since() -> None:
    less, more = ({"f:spec": dict.fromkeys(names)} for names in ("a", "ab"))
    before, now, later, larger = (
        field_managers.Entry(manager="m", time=time, fields=fields)
        for time, fields in [("1", more), ("1", less), ("2", less), ("1", {"f:status": {}, **more})]
    )
    answers = [field_managers.owns_no_more(it, before) for it in (before, now, later, larger)]
    assert answers == [True, True, False, False]
