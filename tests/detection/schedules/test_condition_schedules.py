"""The binding of a pod whose device its driver makes ready late, and how a recorder sees it."""

import pytest

from harness.checks import verdicts
from harness.checks.nodes import device_statuses
from harness.client import apis
from harness.subject import assembling
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from tests.detection import stages
from tests.histories import building, claim_judging
from tests.support import api_objects, commit_recording, local_servers, plugin_world

pytestmark = pytest.mark.detection
EXPOSED = frozenset({"conditions-not-awaited"})
READY = "dra.example/attached"
WAITING = "binding-conditions.changed.waiting"
"""Step to which the correct binder comes."""


class Play:
    """The stage, with a binder and a driver."""

    def __init__(self, stage: stages.Stage, *chosen: str) -> None:
        self.stage = stage
        self.server = local_servers.LocalServer()
        self._recorder = commit_recording.Recorder(self.server)
        self._world = plugin_world.World(self.server, assembling.parts(chosen))
        device = {
            **api_objects.device("a"),
            "bindingConditions": [READY],
            "bindingFailureConditions": ["dra.example/broken"],
        }
        self._world.inventory.on_update({}, api_objects.slice_of(device))
        self._world.claim("c")
        self._attempt = self._world.reserved(self._world.pod())

    def perform(self) -> None:
        """Bind the pod; the driver comes when the binder waits, or has ended."""
        self.stage.start("binder", self._bind)
        self.stage.start("driver", self._make_ready)

    def judged(self) -> verdicts.CheckResult:
        check = device_statuses.DEVICE_READINESS
        plan = building.plan(settings={"pools": {"more": [{"binding_conditions": [READY]}]}})
        answer = check.judge(claim_judging.evidence(self._recorder.body, [check], of=plan))
        assert isinstance(answer, verdicts.CheckResult)
        return answer

    def _bind(self) -> None:
        attempt: scheduling_attempts.Attempt = self._attempt
        self._world.plugin.pre_bind(attempt)
        self._world.api.bind(attempt.pod, attempt.node_name)

    def _make_ready(self) -> None:
        stored = self._world.stored()
        device = {
            key: api_objects.result("a", pool="worker-0")[key]
            for key in ("driver", "pool", "device")
        }
        condition = {
            "type": READY,
            "status": "True",
            "reason": "Attached",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        reported = claims.with_status(stored, devices=[{**device, "conditions": [condition]}])
        self._world.api.update_status(apis.CLAIMS, reported)
        self._world.see()


def perform(stage: stages.Stage, *chosen: str) -> Play:
    play = Play(stage, *chosen)
    play.perform()
    stage.finish()
    return play


@pytest.mark.parametrize("defect", EXPOSED)
def test_a_defect_shows_in_its_schedule(stage: stages.Stage, defect: str) -> None:
    assert perform(stage, defect).judged().verdict is verdicts.Verdict.INVALID


def test_the_correct_code_waits_for_the_driver(stage: stages.Stage) -> None:
    found = perform(stage).judged()
    assert (found.verdict, found.examined_count) == (verdicts.Verdict.VALID, 1)
    assert stage.arrivals["binder", WAITING] == 1
