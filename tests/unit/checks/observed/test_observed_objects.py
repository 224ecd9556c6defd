"""Requests, pods, tolerations, owners and managers, as the observed objects have them."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks.observed import (
    field_managers,
    observations,
    observed_claims,
    observed_cluster,
    observed_metadata,
    observed_pods,
)
from tests.histories import language
from tests.support import cases


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
    assert not field_managers.owns_no_more(now, field_managers.Entry(manager="m", time="1"))


# --------------------------------------------------------------------------------- requests

CLAIM = {
    "requests": [
        {"name": "one", "exactly": {"selectors": [{"cel": {"expression": "x"}}, {"cel": None}, 3]}},
        {"name": "any", "firstAvailable": [{"name": "a", "count": 2}, {"name": "b", "count": 3}]},
    ]
}


@pytest.mark.parametrize(("name", "count"), cases.read(__file__, "named"))
def test_the_request_that_a_result_names(name: str, count: int | None) -> None:
    asked = msgspec.convert(CLAIM, observed_claims.DeviceClaim)
    found = asked.option(name)
    assert (found and found.count) == count
    assert asked.options.get(name) == found
    assert observed_claims.DeviceClaim().options == {}
    assert observed_claims.DeviceClaim().option(name) is None


@pytest.mark.parametrize(
    ("request_", "number", "quantities", "kind", "expressions"), cases.read(__file__, "asked")
)
def test_what_a_request_asks_for(
    request_: dict[str, Any], number: Any, quantities: Any, kind: Any, expressions: list[str]
) -> None:
    found = msgspec.convert(request_, observed_claims.ExactRequest)
    assert (found.number, found.quantities, list(found.kind)) == (number, quantities, kind)
    assert found.expressions == expressions
    assert not found.admin_access


@pytest.mark.parametrize("owners", [[], [{"uid": "o", "kind": "Pod", "controller": True}]])
def test_the_pods_of_a_claim(owners: list[Any]) -> None:
    meta = {"name": "x", "uid": "u", "resourceVersion": "7", "ownerReferences": owners}
    users = [{"resource": kind, "name": kind, "uid": kind} for kind in ("pods", "podgroups")]
    claim = {"metadata": meta, "status": {"reservedFor": users}}
    pods = {"pods", *(owner["uid"] for owner in owners)}
    assert msgspec.convert(claim, observed_claims.Claim).pods == pods
    assert msgspec.convert({"metadata": meta}, observed_claims.Claim).pods == pods - {"pods"}


# ----------------------------------------------------------------------------------- others


@pytest.mark.parametrize(("toleration", "is_tolerated"), cases.read(__file__, "tolerations"))
def test_taints_that_a_toleration_tolerates(toleration: dict[str, str], is_tolerated: bool) -> None:
    taint = observed_cluster.Taint(key="k", value="v", effect="NoSchedule")
    assert observed_cluster.tolerates(toleration, taint) is is_tolerated
    empty = observed_cluster.Taint(key="k", effect="NoSchedule")
    assert observed_cluster.tolerates({"key": "k"}, empty)


def test_a_pool_is_of_one_slice_and_its_first_generation_unless_it_says_so() -> None:
    pool = observed_cluster.Pool("n")
    assert (pool.generation, pool.resource_slice_count) == (0, 1)


def _pod(**status: Any) -> observed_pods.Pod:
    entries = [{"name": "a", "resourceClaimName": "x"}, {"name": "b"}, {"name": "c"}]
    meta = {"name": "p", "uid": "u", "resourceVersion": "7"}
    pod = {"metadata": meta, "spec": {"resourceClaims": entries}, "status": status}
    return msgspec.convert(pod, observed_pods.Pod)


@pytest.mark.parametrize(("phase", "conditions", "runs"), cases.read(__file__, "runs"))
def test_a_pod_runs_unless_its_containers_do_not(
    phase: str, conditions: list[tuple[str, str]] | None, runs: bool
) -> None:
    told = conditions and [dict(zip(("type", "status"), item, strict=True)) for item in conditions]
    assert _pod(phase=phase, conditions=told).runs is runs


def test_claims_that_a_pod_names() -> None:
    made = [{"name": "b", "resourceClaimName": "y"}, {"name": "c", "resourceClaimName": None}]
    assert _pod(resourceClaimStatuses=made).claim_names == {"a": "x", "b": "y"}
    meta = observed_pods.PodMeta(name="p", uid="u", resource_version="7")
    assert observed_pods.Pod(metadata=meta).claim_names == {}


@pytest.mark.parametrize(
    ("kind", "finalizers", "is_marked", "ignored"), cases.read(__file__, "overlooked")
)
def test_finalizers_that_the_server_overlooked(
    kind: Any, finalizers: list[str] | None, is_marked: bool, ignored: list[str]
) -> None:
    meta: dict[str, Any] = {"name": "p", "uid": "u", "resourceVersion": "7"}
    meta |= {"finalizers": finalizers}
    meta |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_marked else {}
    record = language.observation(observations.PODS, 7, {"metadata": meta}, kind, ts_ns=1)
    assert list(observations.decode(record).ignored_finalizers) == ignored
