"""A generated claim is a copy of its template, whatever the API server fills in."""

import copy
from typing import Any

import msgspec
import pytest

from harness.checks import check_registry
from tests.histories import claim_judging, judged_runs, language, recording, worlds

[CHECK] = [check for check in check_registry.CHECKS if check.name == "generated_claims"]
Object = dict[str, Any]
ENTRY = "resource.kubernetes.io/pod-claim-name"
TEMPLATES = "resourceclaimtemplates"
TOLERATION = {"key": "k", "value": "v"}
CONFIG = [{"opaque": {"driver": "d", "parameters": {"empty": "", "list": []}}}]
OPTIONS = [
    {"name": "x", "deviceClassName": "gpu", "count": 2},
    {"name": "y", "deviceClassName": "gpu", "allocationMode": "All"},
]
EXACTLY = {"deviceClassName": "gpu", "tolerations": [TOLERATION]}


def spec(exactly: Object, options: list[Object], **more: Any) -> Object:
    requests = [{"name": "r", "exactly": exactly}, {"name": "q", "firstAvailable": options}]
    return {"devices": {"requests": requests, "config": CONFIG, **more}}


SPEC = spec(EXACTLY, OPTIONS)
ONE = {"allocationMode": "ExactCount", "count": 1, "adminAccess": False, "selectors": []}
TOLERATIONS = [{**TOLERATION, "operator": "Equal", "effect": ""}]
FILLED = spec(
    {**EXACTLY, **ONE, "tolerations": TOLERATIONS},
    [{**OPTIONS[0], "allocationMode": "ExactCount"}, OPTIONS[1]],
    constraints=None,
)
LABELS, NOTES = {"app": "a"}, {"note": "n"}


def template(content: Object = SPEC, name: str = "t") -> recording.Commit:
    meta = {"name": name, "namespace": worlds.NAMESPACE, "uid": f"uid-of-{name}"}
    made = {"metadata": {"labels": LABELS, "annotations": NOTES}, "spec": content}
    return recording.Commit(TEMPLATES, {"metadata": meta, "spec": made})


def pod(**entries: str) -> recording.Commit:
    made = worlds.pod("p")
    made["spec"]["resourceClaims"] = [
        {"name": entry, "resourceClaimTemplateName": name} for entry, name in entries.items()
    ]
    return recording.pod(made)


def claim(
    content: Object = SPEC, *, entry: str = "e", labels: Object = LABELS, notes: Object = NOTES
) -> recording.Commit:
    made = worlds.claim("c", owner="p")
    made["metadata"] |= {"labels": labels, "annotations": {ENTRY: entry, **notes}}
    return recording.claim(made | {"spec": content})


def found(*commits: recording.Commit, gap: str = "", cluster: str = "embedded") -> list[str]:
    body = recording.record(commits, ["resourceclaims", "pods"])
    if gap:
        body.insert(-1, language.gap(gap, 9, 9))
    plan = msgspec.structs.replace(claim_judging.plan(), cluster=cluster)
    answer = judged_runs.examined(CHECK.judge(claim_judging.evidence(body, [CHECK], of=plan)))
    return [item.summary for item in answer.violations]


def _changed(*path: str | int, to: Any) -> Object:
    made = copy.deepcopy(SPEC)
    at: Any = made["devices"]
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return made


EXACT = ("requests", 0, "exactly")
POD, TWICE = pod(e="t"), _changed(*EXACT, "count", to=2)
OTHER = ["claim c of pod p has another spec than template t"]


@pytest.mark.parametrize(("one", "two"), [(SPEC, SPEC), (SPEC, FILLED), (FILLED, SPEC)])
def test_defaults_and_empty_fields_make_no_difference(one: Object, two: Object) -> None:
    assert found(template(one), POD, claim(two)) == []


@pytest.mark.parametrize(
    "content",
    [
        TWICE,
        _changed(*EXACT, "allocationMode", to="All"),
        _changed(*EXACT, "adminAccess", to=True),
        _changed(*EXACT, "tolerations", to=[]),
        _changed(*EXACT, "tolerations", 0, "operator", to="Exists"),
        _changed(*EXACT, "tolerations", 0, "tolerationSeconds", to=0),
        _changed(*EXACT, "capacity", to={"requests": {"memory": "1Gi"}}),
        _changed(*EXACT, "unheardOf", to="new"),
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
def test_any_other_spec_is_found(content: Object) -> None:
    assert found(template(), POD, claim(content)) == OTHER


@pytest.mark.parametrize(
    ("changes", "on_existing"),
    [
        ({"labels": {}}, True),
        ({"labels": {"app": "b"}}, True),
        ({"labels": {"app": "a", "more": "m"}}, False),
        ({"notes": {}}, True),
        ({"notes": {"note": "m"}}, True),
        ({"notes": {"note": "n", "more": "m"}}, False),
    ],
)
def test_other_metadata_is_found(changes: Any, *, on_existing: bool) -> None:
    made = [template(), POD, claim(**changes)]
    what = "labels" if "labels" in changes else "annotations"
    expected = [f"claim c of pod p has other {what} than template t"]
    assert found(*made) == expected
    assert found(*made, cluster="kubeconfig") == (expected if on_existing else [])


GONE = recording.Commit(TEMPLATES, template().object, gone=True)
TWO = [template(), template(TWICE, "u"), pod(e="t", f="u")]


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        ([template(), template(TWICE), POD, claim()], []),
        ([template(), template(TWICE), POD, claim(TWICE)], []),
        ([template(TWICE), POD, claim(), template()], OTHER),  # it came too late
        ([template(), GONE, template(TWICE), POD, claim()], []),
        ([*TWO, claim(TWICE)], OTHER),
        ([*TWO, claim(TWICE, entry="f")], []),
        ([template(), POD, claim(entry="z")], ["claim c of pod p is for entry z, which the pod lacks"]),
        ([POD, claim({})], []),  # a template that was never observed
        ([template(), POD, claim(), claim(labels={})], []),  # users may label it
    ],
)  # fmt: skip
def test_a_version_of_the_template_of_the_entry_explains_the_claim(
    commits: list[recording.Commit], expected: list[str]
) -> None:
    assert found(*commits) == expected


def test_a_gap_in_the_templates_may_hide_the_version_that_explains_it() -> None:
    assert found(template(), POD, claim({}), gap=TEMPLATES) == []
