"""A generated claim is a copy of its template, whatever the API server fills in."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import generated_claims
from harness.history import records
from tests.histories import claim_judging, recording, worlds

Object = dict[str, Any]
ENTRY = "resource.kubernetes.io/pod-claim-name"
SPEC: Object = {
    "devices": {
        "requests": [
            {
                "name": "r",
                "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "k", "value": "v"}]},
            },
            {
                "name": "q",
                "firstAvailable": [
                    {"name": "x", "deviceClassName": "gpu", "count": 2},
                    {"name": "y", "deviceClassName": "gpu", "allocationMode": "All"},
                ],
            },
        ],
        "config": [{"opaque": {"driver": "d", "parameters": {"empty": "", "list": []}}}],
    }
}
FILLED: Object = {
    "devices": {
        "requests": [
            {
                "name": "r",
                "exactly": {
                    "deviceClassName": "gpu",
                    "allocationMode": "ExactCount",
                    "count": 1,
                    "adminAccess": False,
                    "selectors": [],
                    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": ""}],
                },
            },
            {
                "name": "q",
                "firstAvailable": [
                    {
                        "name": "x",
                        "deviceClassName": "gpu",
                        "allocationMode": "ExactCount",
                        "count": 2,
                    },
                    {"name": "y", "deviceClassName": "gpu", "allocationMode": "All"},
                ],
            },
        ],
        "constraints": None,
        "config": [{"opaque": {"driver": "d", "parameters": {"empty": "", "list": []}}}],
    }
}
LABELS, NOTES = {"app": "a"}, {"note": "n"}


def template(spec: Object = SPEC, name: str = "t", **more: Any) -> recording.Commit:
    metadata = {"labels": LABELS, "annotations": NOTES} | more
    meta = {"name": name, "namespace": worlds.NAMESPACE, "uid": f"uid-of-{name}"}
    content = {"metadata": metadata, "spec": spec}
    return recording.Commit("resourceclaimtemplates", {"metadata": meta, "spec": content})


def pod(**entries: str) -> recording.Commit:
    made = worlds.pod("p")
    made["spec"]["resourceClaims"] = [
        {"name": entry, "resourceClaimTemplateName": name} for entry, name in entries.items()
    ]
    return recording.pod(made)


def claim(
    spec: Object = SPEC,
    *,
    entry: str = "e",
    labels: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> recording.Commit:
    made = worlds.claim("c", owner="p")
    made["metadata"] |= {
        "labels": LABELS if labels is None else labels,
        "annotations": {ENTRY: entry, **(NOTES if notes is None else notes)},
    }
    return recording.claim(made | {"spec": spec})


def found(*commits: recording.Commit, gap: str = "", cluster: str = "embedded") -> list[str]:
    body = recording.record(commits, ["resourceclaims", "pods"])
    if gap:
        body.insert(-1, records.Gap(resource=gap, after_resource_version=9, reason="410", ts_ns=9))
    plan = msgspec.structs.replace(claim_judging.plan(), cluster=cluster)
    check = generated_claims.CHECK
    answer = check.judge(claim_judging.evidence(body, [check], of=plan))
    assert isinstance(answer, verdicts.CheckResult)
    return [item.summary for item in answer.violations]


ALL = pod(e="t")
OTHER = "claim c of pod p has another spec than template t"


def test_a_copy() -> None:
    assert found(template(), ALL, claim()) == []


@pytest.mark.parametrize(("of_template", "of_claim"), [(SPEC, FILLED), (FILLED, SPEC)])
def test_defaults_and_empty_fields_make_no_difference(
    of_template: Object, of_claim: Object
) -> None:
    assert found(template(of_template), ALL, claim(of_claim)) == []


def _changed(*path: str | int, to: Any) -> Object:
    made: Any = msgspec.json.decode(msgspec.json.encode(SPEC))
    at = made["devices"]
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return dict(made)


@pytest.mark.parametrize(
    "spec",
    [
        _changed("requests", 0, "exactly", "count", to=2),
        _changed("requests", 0, "exactly", "allocationMode", to="All"),
        _changed("requests", 0, "exactly", "adminAccess", to=True),
        _changed("requests", 0, "exactly", "tolerations", to=[]),
        _changed("requests", 0, "exactly", "tolerations", 0, "operator", to="Exists"),
        _changed("requests", 0, "exactly", "tolerations", 0, "tolerationSeconds", to=0),
        _changed("requests", 0, "exactly", "capacity", to={"requests": {"memory": "1Gi"}}),
        _changed("requests", 0, "exactly", "unheardOf", to="new"),
        _changed("requests", 1, "firstAvailable", 0, "count", to=1),
        _changed("requests", 1, "firstAvailable", 1, "allocationMode", to="ExactCount"),
        _changed("requests", to=list(reversed(SPEC["devices"]["requests"]))),
        _changed("constraints", to=[{"matchAttribute": "d/numa"}]),
        _changed("config", to=[]),
        _changed("config", 0, "opaque", "parameters", "empty", to=None),
        _changed("config", 0, "opaque", "parameters", "list", to=[1]),
        {},
    ],
)
def test_any_other_spec_is_found(spec: Object) -> None:
    assert found(template(), ALL, claim(spec)) == [OTHER]


@pytest.mark.parametrize(
    ("labels", "notes", "what", "on_existing"),
    [
        ({}, None, "labels", True),
        ({"app": "b"}, None, "labels", True),
        ({"app": "a", "more": "m"}, None, "labels", False),
        (None, {}, "annotations", True),
        (None, {"note": "m"}, "annotations", True),
        (None, {"note": "n", "more": "m"}, "annotations", False),
    ],
)
def test_other_metadata_is_found(
    labels: Object | None, notes: Object | None, what: str, *, on_existing: bool
) -> None:
    made = [template(), ALL, claim(labels=labels, notes=notes)]
    expected = [f"claim c of pod p has other {what} than template t"]
    assert found(*made) == expected
    assert found(*made, cluster="kubeconfig") == (expected if on_existing else [])


def test_any_version_of_the_template_before_the_claim_may_have_been_read() -> None:
    other = _changed("requests", 0, "exactly", "count", to=2)
    assert found(template(), template(other), ALL, claim()) == []
    assert found(template(), template(other), ALL, claim(other)) == []
    assert found(template(other), ALL, claim(), template()) == [OTHER]


def test_a_template_that_came_back_is_another_version() -> None:
    other = _changed("requests", 0, "exactly", "count", to=2)
    gone = recording.Commit("resourceclaimtemplates", template().object, gone=True)
    assert found(template(), gone, template(other), ALL, claim()) == []


def test_only_the_template_of_the_entry_counts() -> None:
    other = _changed("requests", 0, "exactly", "count", to=2)
    both = pod(e="t", f="u")
    assert found(template(), template(other, "u"), both, claim(other)) == [OTHER]
    assert found(template(), template(other, "u"), both, claim(other, entry="f")) == []


def test_a_claim_for_an_entry_that_the_pod_lacks_is_found() -> None:
    [summary] = found(template(), ALL, claim(entry="z"))
    assert summary == "claim c of pod p is for entry z, which the pod lacks"


def test_a_template_that_was_never_observed_explains_everything() -> None:
    assert found(ALL, claim({})) == []


def test_a_gap_in_the_templates_may_hide_the_version_that_explains_it() -> None:
    assert found(template(), ALL, claim({})) == [OTHER]
    assert found(template(), ALL, claim({}), gap="resourceclaimtemplates") == []


def test_later_versions_of_a_claim_are_not_compared() -> None:
    """Users may label it."""
    assert found(template(), ALL, claim(), claim(labels={})) == []
