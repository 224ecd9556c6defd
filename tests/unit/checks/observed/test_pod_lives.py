"""The milestones of a pod and of its claims, from its versions one after the other."""

import math
from typing import Any

import pytest

from harness.checks.observed import folders, pod_lives
from harness.history import records
from tests.histories import language

TAINTED = {"type": "DisruptionTarget", "status": "True", "reason": pod_lives.EVICTED}


def _pod(rv: int, kind: str = "MODIFIED", **fields: Any) -> records.Observation:
    made = [{"name": entry, "resourceClaimName": name} for entry, name in fields.pop("x", ())]
    meta = {
        "name": "p",
        "namespace": "n",
        "uid": "u",
        "deletionTimestamp": fields.pop("gone", None),
    }
    spec = {"nodeName": fields.pop("node", "")}
    status = {"resourceClaimStatuses": made, **fields}
    return language.observation(
        "pods", rv, {"metadata": meta, "spec": spec, "status": status}, kind
    )


def _life(*body: records.Body) -> pod_lives.PodLife:
    lives = pod_lives.PodLives()
    folders.fold(body, lives)
    return lives.pods["u"]


def test_the_milestones_of_a_pod() -> None:
    a, b, c = ([("x", name)] for name in "abc")
    extended = [{"extendedResourceClaimStatus": {"resourceClaimName": name}} for name in "efg"]
    life = _life(
        *(_pod(1, "ADDED", x=a), _pod(2, x=a, **extended[0]), _pod(3, x=b, **extended[1])),
        *(_pod(4, node="n"), _pod(5, x=c, node="m", **extended[2])),
        *(_pod(6, x=c, node="n", phase="Succeeded"), _pod(7, phase="Failed", gone="2026")),
        _pod(8, "DELETED", x=a),
    )
    assert (life.bound_rv, life.node, life.bound_ns) == (4, "n", language.at(4))
    assert (life.ended_rv, life.leaving_ns, life.gone_rv) == (6, language.at(6), 8)
    named = [(rv, [*names.values()]) for rv, names, _ in life.records]
    assert named == [(1, ["a"]), (3, ["b"]), (4, []), (5, ["c"]), (7, [])]
    assert (life.recorded, life.latest, life.recorded_rv) == ({}, {"x": "c"}, 6)
    assert (life.extended, life.last_rv, life.is_certain) == ("f", 8, True)
    assert [rv for rv in range(1, 9) if life.runs_at(rv)] == [5]


@pytest.mark.parametrize(
    ("words", "is_certain"),
    [
        ("1 2", True),
        ("2 2", False),
        ("2 1", False),
        ("1 2~ 3", False),
        ("1 pods", False),
        ("pods 1", False),
        ("claims 1 claims 2", True),
    ],
)
def test_gaps_and_disorder_leave_doubt(words: str, is_certain: bool) -> None:
    body = [
        _pod(int(it.strip("~")), "DELETED" if "~" in it else "MODIFIED")
        if it[0].isdigit()
        else language.gap(it, 1)
        for it in words.split()
    ]
    assert _life(_pod(0, "ADDED"), *body).is_certain is is_certain


@pytest.mark.parametrize(
    ("kinds", "bound"),
    [("A", (1, 0)), ("L", (1, 1)), ("aL", (0, 1)), ("aM", (0, 0)), ("lM", (0, 0))],
)
def test_who_bound_a_pod(kinds: str, bound: tuple[int, int]) -> None:
    """Letters are the types of its versions; in those of a small one it is not bound."""
    names = {"a": "ADDED", "l": "LISTED", "m": "MODIFIED"}
    life = _life(
        *(_pod(rv, names[it.lower()], node="n" * it.isupper()) for rv, it in enumerate(kinds, 1))
    )
    assert (life.bound_by_user, life.bound_in_list) == bound


def test_the_first_eviction_by_a_taint_counts() -> None:
    others = [TAINTED | {"status": "False"}, TAINTED | {"reason": "Preempted"}]
    life = _life(*(_pod(rv, conditions=it) for rv, it in enumerate([others, [TAINTED]] * 2, 1)))
    assert life.eviction is not None
    assert (life.eviction.rv, life.eviction.ts_ns) == (2, language.at(2))
    assert life.leaving_ns == math.inf
    assert _life(_pod(1), _pod(2, gone="2026")).leaving_ns == language.at(2)
    assert _life(_pod(1), _pod(2, "DELETED")).leaving_ns == language.at(2)


def test_claims_that_a_pod_had_when_it_was_bound() -> None:
    lives = pod_lives.PodLives()
    folders.fold(language.observe("p:a,?x,?y p?b:x p>n p?c:y"), lives)
    [life] = lives.pods.values()
    assert (life.named, list(life.templates)) == (["a"], ["x", "y"])
    assert life.claims_at_binding == ["a", "b"]
    counts = [len(life.recorded_until(rv)) for rv in (None, 1, 2, 3, 4, 5)]
    assert counts == [0, 0, 1, 1, 2, 2]
