"""Reading claims and pods."""

import copy
from typing import Any

import pytest

from harness.subject.objects import claims
from tests.support import api_objects

Object = dict[str, Any]


def claim(**more: Any) -> Object:
    return api_objects.claim("c", version=1, **more)


def test_status_fields_of_a_claim_without_status() -> None:
    assert claims.allocation_of(claim()) is None
    assert claims.reservations_of(claim()) == []
    assert not claims.has_finalizer(claim())
    assert not claims.is_deleting(claim())
    assert list(claims.exclusive_devices(None)) == []


def test_copies_leave_the_original_alone() -> None:
    original = claim(allocated=api_objects.allocation("a"))
    before = copy.deepcopy(original)
    pod = api_objects.known_pod("p")
    reserved = claims.with_reservation(original, pod)
    assert claims.is_reserved_for(reserved, pod)
    assert claims.allocation_of(reserved) == api_objects.allocation("a")
    freed = claims.with_status(reserved, allocation=None, reservedFor=None)
    assert freed["status"] == {}
    assert claims.with_metadata(original, finalizers=["x"])["metadata"]["finalizers"] == ["x"]
    assert original == before


def test_reservations_add_up_and_belong_to_a_uid() -> None:
    first, second = api_objects.known_pod("p"), api_objects.known_pod("p", uid="reborn")
    made = claims.with_reservation(claim(), first)
    assert not claims.is_reserved_for(made, second)
    made = claims.with_reservation(made, second)
    assert [item["uid"] for item in claims.reservations_of(made)] == ["uid-p", "reborn"]
    assert {item["resource"] for item in claims.reservations_of(made)} == {"pods"}


def test_a_claim_is_for_the_pod_that_controls_it() -> None:
    pod = api_objects.known_pod("p")
    assert claims.is_for(claim(owner=pod), pod)
    assert not claims.is_for(claim(owner=pod), api_objects.known_pod("p", uid="reborn"))
    assert not claims.is_for(claim(), pod)
    loose = claim(owner=pod)
    loose["metadata"]["ownerReferences"][0]["controller"] = False
    assert not claims.is_for(loose, pod)


def test_the_claims_of_a_pod_by_name_and_by_template() -> None:
    recorded = {"made": "p-made-x", "needless": None}
    pod = api_objects.known_pod(
        "p", use=["mine"], templates=["made", "needless"], recorded=recorded
    )
    assert list(claims.claim_names(pod)) == [("mine", False), ("p-made-x", True)]
    assert claims.known_claim_keys(pod) == ["default/mine", "default/p-made-x"]


def test_a_claim_that_is_not_made_yet() -> None:
    pod = api_objects.known_pod("p", use=["mine"], templates=["made"])
    with pytest.raises(claims.Unresolved, match="'made' is not created yet"):
        list(claims.claim_names(pod))
    assert claims.known_claim_keys(pod) == ["default/mine"]


def test_a_pod_without_claims() -> None:
    pod = api_objects.known_pod("p")
    del pod["spec"]["resourceClaims"]
    assert list(claims.claim_names(pod)) == []
    assert claims.entries_of(pod) == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, False),
        ({"phase": "Running", "node": "n"}, False),
        ({"phase": "Succeeded"}, True),
        ({"phase": "Failed"}, True),
        ({"deletionTimestamp": "now"}, True),
        ({"deletionTimestamp": "now", "node": "n"}, False),
    ],
)
def test_a_pod_that_is_done(more: Object, expected: bool) -> None:
    assert claims.is_done(api_objects.known_pod("p", **more)) is expected
