"""Claims that one part of the subject writes with a defect, as a recorder writes them down."""

from collections.abc import Callable, Sequence

import pytest

from harness.checks import verdicts
from harness.checks.claims import reservations
from harness.client import apis
from harness.history import records
from harness.subject import assembling
from harness.subject.objects import claims
from tests.histories import claim_judging
from tests.support import (
    api_objects,
    commit_recording,
    controller_worlds,
    local_servers,
    plugin_world,
)

pytestmark = pytest.mark.detection


def bind(chosen: Sequence[str]) -> list[records.Body]:
    """A scheduler with these defects binds a pod with a claim."""
    server = local_servers.LocalServer()
    recorder = commit_recording.Recorder(server)
    world = plugin_world.World(server, assembling.parts(chosen))
    world.inventory.on_update({}, api_objects.slice_of("a"))
    world.claim("c")
    attempt = world.reserved(world.pod())
    world.plugin.pre_bind(attempt)
    world.api.bind(attempt.pod, attempt.node_name)
    server.close()
    return recorder.body


def share(chosen: Sequence[str]) -> list[records.Body]:
    """Two bound pods share a claim; a controller with these defects sees that one is gone."""
    server = local_servers.LocalServer()
    recorder = commit_recording.Recorder(server)
    world = controller_worlds.World(server, chosen=chosen)
    pods = [world.put(apis.PODS, api_objects.pod(name, use=["c"])) for name in ("p", "q")]
    world.allocated("c", *pods)
    for pod in pods:
        world.api.bind(pod, "worker-0")
    world.start()
    try:
        world.api.delete(apis.PODS, "p", namespace="default", grace_period_s=0)
        world.wait(lambda: "p" not in world.reserved_for(), "the reservation of p to go")
        world.settle()
    finally:
        world.stop()
        server.close()
    return recorder.body


Play = tuple[str, str, Callable[[Sequence[str]], list[records.Body]]]
PLAYS: tuple[Play, ...] = (
    ("finalizer-not-added", "allocation_finalizers", bind),
    ("controller-reservations-dropped", "claims_in_use", share),
)
"""A defect, the check that it breaks, and what the subject does."""


def judge(play: Play, *chosen: str) -> dict[str, verdicts.Verdict]:
    found = claim_judging.answers(play[2](chosen)).values()
    return {item.check: item.verdict for item in found if isinstance(item, verdicts.CheckResult)}


plays = pytest.mark.parametrize("play", PLAYS, ids=lambda play: str(play[0]))


@plays
def test_a_defect_is_caught_by_its_check(play: Play) -> None:
    defect, check, _ = play
    assert judge(play, defect)[check] is verdicts.Verdict.INVALID


@plays
def test_the_correct_code_keeps_all_promises(play: Play) -> None:
    found = judge(play)
    assert play[1] in found
    assert set(found.values()) == {verdicts.Verdict.VALID}


def test_a_reservation_for_another_pod_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler writes the uid of a pod that had the same name before; none was ever shipped."""
    right = claims.reservation_of
    monkeypatch.setattr(claims, "reservation_of", lambda pod: {**right(pod), "uid": "uid-before"})
    answer = claim_judging.result(reservations.CLAIM_RESERVATIONS.name, bind([]))
    assert answer.verdict is verdicts.Verdict.INVALID
    assert "uid-before" in answer.violations[0].text
