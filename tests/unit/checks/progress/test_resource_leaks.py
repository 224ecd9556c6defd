"""Claims, allocations and reservations that are kept for pods that are gone."""

import pathlib
from typing import Any

import pytest

from harness.checks import protocol, verdicts
from harness.checks.nodes import preparations
from harness.checks.progress import resource_leaks, world_states
from harness.history import directories, histories, records
from tests.histories import building, judged_runs, worlds
from tests.histories.words import world_words
from tests.histories.worlds import World
from tests.support import text_tables

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
D0, D1 = worlds.device("n", 0), worlds.device("n", 1)
TWO_DEVICES = [worlds.devices_of("n", 2)]
RUNNING = worlds.pod("q", claim="b", phase="Running", node="n")


def judge(world: World | list[records.Body], **options: Any) -> verdicts.Answer:
    phases = worlds.phases(seconds=options.pop("seconds", 60.0))
    given = worlds.judged(world, plan=worlds.plan(), phases=phases, **options)
    return resource_leaks._judge_leaks(given)


def _result(world: World | list[records.Body], **options: Any) -> verdicts.CheckResult:
    return judged_runs.examined(judge(world, **options))


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "resource_leaks.txt", part)


GARBAGE = worlds.claim("a", owner="gone")


def test_claims_of_gone_pods_are_the_garbage_collectors() -> None:
    """Of a cluster without one, the rest is judged."""
    world = World(claims=[GARBAGE, worlds.claim("b", D1, owner="gone")], slices=TWO_DEVICES)
    answer = _result(world, collects_garbage=False)
    assert answer.verdict is VALID
    assert answer.reason.endswith(
        "nothing is leaked, apart from 2 that this cluster is not known to collect"
    )
    for leak in (
        worlds.claim("c", D0),
        worlds.claim("c", D0, owner="gone", users=["gone"]),
        worlds.claim("c", owner="gone", users=["gone"]),
        worlds.claim("c", owner="gone", deleting=True, finalizer=True),
    ):
        world = World(claims=[GARBAGE, leak], slices=TWO_DEVICES)
        found = _result(world, collects_garbage=False)
        assert (found.verdict, found.violation_count) == (INVALID, 1)
        assert found.violations[0].summary.startswith("claim c ")


@pytest.mark.parametrize(("text", "summary"), cases("leaked"))
def test_what_is_leaked(text: str, summary: str) -> None:
    result = _result(world_words.world(text))
    assert (result.verdict, result.violation_count) == (INVALID, 1)
    [violation] = result.violations
    assert (violation.summary, violation.guarantee) == (summary, "resource_leaks")
    assert violation.text.endswith(". Nothing has moved for 60.0 s.")
    assert violation.resource_versions
    assert [item.kind for item in violation.objects] == ["ResourceClaim"]
    assert result.reason == f"{summary}; nothing has moved for 60.0 s"


@pytest.mark.parametrize("text", cases("kept"))
def test_what_may_be_kept(text: str) -> None:
    result = _result(world_words.world(text))
    assert (result.verdict, result.violations) == (VALID, [])
    assert result.reason.endswith("nothing is leaked")


@pytest.mark.parametrize(("seconds", "verdict"), [(9.9, UNKNOWN), (10.0, INVALID)])
def test_what_is_released_has_its_time(seconds: float, verdict: verdicts.Verdict) -> None:
    result = _result(World(claims=[worlds.claim("a", D0)]), seconds=seconds)
    assert result.verdict is verdict
    assert ("before the 10 s that they have" in result.reason) is (verdict is UNKNOWN)


def test_the_pods_of_a_long_list_are_not_all_named() -> None:
    users = ["q", *(f"gone{i}" for i in range(7))]
    result = _result(World(pods=[RUNNING], claims=[worlds.claim("b", D0, users=users)]))
    [violation] = result.violations
    assert "reserved for 7 pods that are gone or ended: gone0 (uid uid-gone0), " in violation.text
    assert "gone4 (uid uid-gone4) and 2 more" in violation.text


def test_without_a_claim_nothing_was_examined() -> None:
    assert judge(World(pods=[RUNNING])) == verdicts.NotExamined(
        check="resource_leaks",
        promise=resource_leaks.RESOURCE_LEAKS.promise,
        reason="no claim was observed",
    )


def test_a_run_that_ended_in_the_midst_of_its_load_is_not_examined() -> None:
    world = World(claims=[worlds.claim("a", D0)])
    phases = worlds.phases(seconds=60)[:2]
    answer = resource_leaks._judge_leaks(worlds.judged(world, plan=worlds.plan(), phases=phases))
    assert isinstance(answer, verdicts.NotExamined)
    assert answer.reason == "the load did not end"


@pytest.mark.parametrize(("deleting", "verdict"), [(False, VALID), (True, INVALID)])
def test_the_other_claim_of_a_pod_is_not_leaked_if_the_api_server_removed_one(
    deleting: bool, verdict: verdicts.Verdict
) -> None:
    world = World(claims=[worlds.claim("b", D1, users=["p"])], slices=TWO_DEVICES)
    lost = worlds.claim("a", D0, users=["p"], finalizer=True, deleting=deleting)
    assert _result([*world.observations(), worlds.removed(lost)]).verdict is verdict


def _works(directory: directories.RunDirectory) -> bool:
    history = histories.load(directory.path)
    evidence = protocol.Evidence(history.plan, history=history)
    return evidence[resource_leaks.GarbageCollection].works


@pytest.mark.parametrize(
    ("changes", "phase", "works"),
    [
        ({"cluster": "embedded"}, "", True),
        ({"cluster": "kind"}, "", True),
        ({"cluster": "local"}, "", False),
        ({"cluster": "local", "collects_garbage": True}, "", True),
        ({"cluster": "local", "collects_garbage": False}, "", False),
        ({"cluster": "kubeconfig"}, "", False),
        ({"cluster": "kubeconfig"}, resource_leaks.WORKS, True),
        ({"cluster": "kubeconfig"}, resource_leaks.FAILS, False),
    ],
)
def test_a_cluster_collects_garbage_if_that_is_known(
    changes: dict[str, Any], phase: str, works: bool, tmp_path: pathlib.Path
) -> None:
    names = ["load", phase, "ended"] if phase else []
    phases = [records.Phase(name=name, ts_ns=number) for number, name in enumerate(names)]
    directory = building.build(tmp_path / "run", "a+D1", changes=changes, phases=phases)
    assert _works(directory) is works


@pytest.mark.parametrize("content", ["", "[]", "{", '{"versions": 1}'])
def test_a_damaged_record_of_the_cluster_says_nothing(content: str, tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1", changes={"cluster": "local"})
    directory.cluster.write_text(content)
    assert not _works(directory)


@pytest.mark.parametrize(("text", "prepared", "expected"), cases("preparations"))
def test_what_is_left_prepared(text: str, prepared: str, expected: str) -> None:
    reading = preparations.Reading()
    reading.prepared = [
        preparations.Preparation(
            node="n",
            namespace="tests",
            name=word[0],
            uid=f"uid-{word[0]}",
            exclusive=frozenset(),
            from_ns=1,
            until_ns=7 if word.endswith("-") else None,
        )
        for word in prepared.split()
    ]
    final = worlds.judged(world_words.world(text), plan=worlds.plan())[world_states.WorldState]
    given = {preparations.Reading: reading, world_states.WorldState: final}
    for last in ("stopping", "ended early", "found"):
        phases = [records.Phase(name=name, ts_ns=1, detail="why") for name in ("load", last)]
        evidence = protocol.Evidence(worlds.plan(), given, phases=phases)
        found = resource_leaks._judge_preparations(evidence)
        told = f"{found.verdict} {found.violation_count} {found.examined_count}"
        count = len(reading.prepared)
        assert told == (expected if last == "stopping" else f"UNKNOWN 0 {count}")
