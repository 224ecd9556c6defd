"""Golden run directories for the checks of the lives of claims."""

import copy
from collections.abc import Sequence
from typing import Any

from tests.histories import language, recording, worlds
from tests.histories.golden_cases.case import Case
from tests.histories.golden_cases.words import NODE, Object, claim, gone, pod

TEMPLATES = "resourceclaimtemplates"
RESOURCES = [language.CLAIMS, language.PODS, recording.SLICES, recording.CLASSES, recording.NODES]


def _meta(name: str) -> Object:
    return {"name": name, "uid": f"uid-of-{name}"}


def device_class() -> recording.Commit:
    return recording.Commit(recording.CLASSES, {"metadata": _meta(worlds.CLASS), "spec": {}})


def node(name: str) -> recording.Commit:
    return recording.Commit(recording.NODES, {"metadata": _meta(name)})


def allocated(*numbers: str, **options: Any) -> recording.Commit:
    """Claim a with these devices, on node n, for pod p."""
    commit = claim("a", *numbers, **{"users": ["p"], "finalizer": True, **options})
    commit.object["status"]["allocation"]["nodeSelector"] = only("n")
    return commit


def only(name: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def changed(commit: recording.Commit, *path: str | int, to: Any) -> recording.Commit:
    found = copy.deepcopy(commit.object)
    place: Any = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return recording.Commit(commit.resource, found)


CLUSTER = [node("n"), node("m"), device_class(), NODE]
WAITING = pod("p", claim="a")
BOUND = pod("p", claim="a", node="n")
RUNNING = pod("p", claim="a", node="n", phase="Running")
ASKED = [*CLUSTER, claim("a"), WAITING]
ENDED = [pod("p", claim="a", node="n", phase="Succeeded"), claim("a"), gone(claim("a"))]
WHOLE = [*ASKED, allocated("0"), BOUND, RUNNING, *ENDED]
"""A claim gets its device, its pod runs and ends, and the claim is freed and deleted."""
PLAN: Object = {"settings": {"traffic": {"users": 1}}, "resources": RESOURCES}


def _generated(name: str, *numbers: str) -> recording.Commit:
    commit = allocated(*numbers, owner="p") if numbers else claim(name, owner="p")
    annotations = {"resource.kubernetes.io/pod-claim-name": "device"}
    return changed(commit, "metadata", "annotations", to=annotations)


def reported(device: str) -> recording.Commit:
    commit = allocated("0")
    [result] = commit.object["status"]["allocation"]["devices"]["results"]
    entry = {key: result[key] for key in ("driver", "pool")} | {"device": device}
    return changed(commit, "status", "devices", to=[entry])


_OWNER = pod("p")
_TEMPLATE = [*CLUSTER, _OWNER, _generated("a")]
HISTORIES: dict[str, tuple[Sequence[recording.Commit], Sequence[recording.Commit]]] = {
    "allocation_finalizers": (WHOLE, [*ASKED, allocated("0", finalizer=False), BOUND]),
    "allocation_stability": (WHOLE, [*ASKED, allocated("0"), allocated("1"), BOUND]),
    "claims_in_use": (WHOLE, [*ASKED, allocated("0"), BOUND, RUNNING, allocated("0", users=[])]),
    "device_statuses": (
        [*ASKED, allocated("0"), reported("d0"), BOUND, RUNNING, *ENDED],
        [*ASKED, allocated("0"), reported("d1"), BOUND, RUNNING, *ENDED],
    ),
    "generated_claims": (
        [*_TEMPLATE, pod("p", generated="a"), _generated("a", "0")],
        [*_TEMPLATE, _generated("b"), pod("p", generated="a"), gone(_generated("b"))],
    ),
}
"""Check -> a history that keeps its promise, and one that breaks it."""


def _cases(check: str) -> Sequence[Case]:
    kept, broken = HISTORIES[check]
    others = {"INVALID": broken, "UNKNOWN-nothing-allocated": CLUSTER}
    return [
        Case(check=check, name=name, commits=commits, plan=PLAN)
        for name, commits in {"VALID": kept, **others}.items()
    ]


def _template(count: int) -> recording.Commit:
    """The template of pod p's only entry."""
    meta = {**_meta("template"), "namespace": worlds.NAMESPACE}
    spec = worlds.claim("a", count=count)["spec"]
    return recording.Commit(TEMPLATES, {"metadata": meta, "spec": {"spec": spec}})


def _copied(name: str, count: int) -> Case:
    """Claim a is for one device; its template for this number."""
    commits = [_template(count), *_TEMPLATE, pod("p", generated="a"), _generated("a", "0")]
    plan = {**PLAN, "resources": [*RESOURCES, TEMPLATES]}
    return Case(check="generated_claims", name=name, commits=commits, plan=plan)


CASES: Sequence[Case] = [
    *(case for check in HISTORIES for case in _cases(check)),
    _copied("VALID-as-its-template", 1),
    _copied("INVALID-other-than-its-template", 2),
]
