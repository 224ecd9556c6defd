"""Scripts are played in order: what a step names is held until its turn, and what is late is told.

The rules are those of the real registry; the requests of clients are struck by the tests.
"""

import pathlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from harness import clocks
from harness.client import apis
from harness.faults import injection, matching
from harness.history import journal_reader, journal_writer, records
from harness.run.faulting import injecting
from harness.run.faulting.scripted import holding, player, script_objects, thread_holding
from harness.scenario import script_specs, specs, subject_specs
from tests.unit.run.faulting import fake_parts

NAMESPACE = "ns"


class Session:
    """The rules of a carrier without a carrier."""

    def __init__(self) -> None:
        self.faults = injection.Faults(now=self._now, call_later=lambda _, resume: resume())

    @staticmethod
    def _now() -> injection.FaultTime:
        return injection.FaultTime("", clocks.monotonic_ns())

    def switch_on(self, rule: Mapping[str, Any], *, kind: str = "") -> None:
        assert kind or rule["action"]["type"] == "delay"
        self.faults.add(msgspec.convert(rule, injection.FaultSpec))

    def switch_off(self, name: str) -> None:
        self.faults.remove(name)

    def applied(self) -> list[injection.Applied]:
        return list(self.faults.applied)


class Processes:
    """A supervisor that notes what a script does."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def kill(self, name: str, *, fault: str) -> bool:
        self.done.append(f"kill {name}")
        return fault == script_specs.JOURNAL

    terminate = pause = kill

    def resume(self, name: str) -> None:
        self.done.append(f"resume {name}")

    def is_living(self, name: str) -> bool:
        return f"kill {name}" not in self.done

    def start_next(self, name: str) -> str:
        self.done.append(f"start {name}")
        return f"{name}.2"


class Objects:
    """The objects of a script without an API server."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def create(self, item: script_specs.ScriptObject) -> None:
        self.done.append(f"create {item.name}")

    def find(self, text: str) -> tuple[apis.Resource, str]:
        return apis.CLAIMS, text

    def delete(self, text: str, *, force: bool) -> None:
        self.done.append(f"delete {text}{' by force' * force}")

    def has_state(self, text: str, state: str) -> bool:
        return f"{text} {state}" in self.done

    def close(self) -> None:
        self.done.append("close")


class Threads:
    """Threads that come to their places as the tests say."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.came: set[int] = set()

    def arm(self, number: int, step: script_specs.OfThread, patience: holding.Patience) -> None:
        del patience
        self.done.append(f"arm {number}: {step.at}")

    def await_visit(
        self, number: int, step: script_specs.OfThread, patience: holding.Patience
    ) -> str:
        patience.until(lambda: number in self.came, f"a thread at the {step.at}")
        self.done.append(f"came {number}")
        return f"goroutine {number} at the {step.at}"

    def release(self, number: int, step: script_specs.HoldThread) -> None:
        self.done.append(f"release {number}: {step.name}")

    def close(self) -> None:
        self.done.append("close")


def _is_held(action: injection.Action) -> bool:
    return isinstance(action, injection.Block) or injection.is_held_end(action)


class Stage:
    """A player with its parts, playing on a thread."""

    def __init__(self, folder: pathlib.Path, steps: list[dict[str, Any]], patch: Any) -> None:
        self.session, self.processes, self.objects = Session(), Processes(), Objects()
        self.threads = Threads()
        self.ending = injecting.Ending()
        script = script_specs.ScriptTraffic.model_validate(
            {
                "profile": "script",
                "deadline_s": 0.5,
                "objects": [{"kind": "ResourceClaim", "name": "claim-1"}],
                "steps": steps,
            }
        )
        patch.setattr(script_objects, "ScriptObjects", lambda _: self.objects)
        patch.setattr(thread_holding, "ThreadHolds", lambda *_, **__: self.threads)
        parts = fake_parts.stage(
            folder,
            self.processes,
            scenario=specs.Scenario.model_construct(
                traffic=script, subject=subject_specs.SubjectSpec(claim_controller="external")
            ),
            carried=self.session,
        )
        parts.journaled = lambda path: journal_writer.Writer(path, process="script", run_id="r")
        self.path, self.faults = parts.directory.script, parts.journal
        it = injecting.Injection(fake_parts.fault("script"), parts, self.ending)
        self._thread = threading.Thread(target=it.perform, args=[player.play])
        self._thread.start()
        self.wait_for(self.faults.begun)
        for resource in player.WATCHED:
            self.strike("request", verb="watch", resource=resource, name="")

    def strike(
        self, point: injection.Point, resume: Callable[[], None] = lambda: None, **facts: Any
    ) -> injection.Applied | None:
        """Let a request, answer or event of the scheduler pass; return what hits it."""
        found = {
            "verb": "update",
            "path": "/",
            "client": "scheduler",
            "resource": "resourceclaims",
            "subresource": "",
            "namespace": NAMESPACE,
            "name": "claim-1",
            **facts,
        }
        applied = self.session.faults.strike(point, matching.Facts(**found))
        if applied is not None and _is_held(applied.action):
            self.session.faults.wait(applied, resume)
        return applied

    def status(self, point: injection.Point, resume: Callable[[], None] = lambda: None) -> object:
        return self.strike(point, resume, subresource="status")

    def wait_for(self, condition: Callable[[], object]) -> None:
        clocks.wait_until(condition, timeout_s=5, why="the script to go on")

    def ended(self) -> list[records.ScriptStep]:
        self._thread.join(10)
        assert not self._thread.is_alive()
        self.faults.close()
        return [
            item
            for item in journal_reader.read(self.path).records
            if isinstance(item, records.ScriptStep)
        ]


@pytest.fixture
def stage(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def make(*steps: dict[str, Any]) -> Stage:
        made.append(Stage(tmp_path, list(steps), monkeypatch))
        return made[-1]

    yield make
    for one in made:
        one.ending.over.set()


WRITE = {"do": "request", "client": "scheduler", "of": "resourceclaims/claim-1/status"}
CREATE = {"do": "create", "object": "claim-1"}
READY = {"do": "await", "object": "claim-1", "state": "bound"}


def test_a_request_is_held_until_its_turn(stage: Callable[..., Stage]) -> None:
    play, passed = stage(READY, WRITE), threading.Event()
    assert play.status("request", passed.set) is not None
    assert not passed.is_set()
    play.objects.done.append("claim-1 bound")
    play.wait_for(passed.is_set)
    play.status("response")
    assert [step.late for step in play.ended()] == ["", ""]


def test_what_no_step_names_passes(stage: Callable[..., Stage]) -> None:
    play = stage(READY, WRITE)
    assert play.strike("request") is None  # not of the status
    assert play.strike("request", subresource="status", client="scheduler.2") is None
    assert play.strike("request", subresource="status", namespace="other") is None
    assert play.strike("request", subresource="status", verb="get") is None
    assert "it still waited for claim-1 to be bound" in play.ended()[0].late


def test_a_late_step_ends_the_script_and_lets_go_all(stage: Callable[..., Stage]) -> None:
    play, passed = stage(WRITE, {**WRITE, "of": "pods/*/binding"}, CREATE), threading.Event()
    play.strike("request", passed.set, resource="pods", subresource="binding", name="pod-1")
    late = play.ended()
    assert [step.step for step in late] == [1]
    assert "still waited for scheduler's write of resourceclaims/claim-1/status" in late[0].late
    assert passed.is_set()
    assert play.objects.done == ["close"]
    assert play.session.faults.all() == []


@pytest.mark.parametrize(
    ("answer", "action"),
    [("lost", injection.Lose), ("cut", injection.Truncate), ("held", injection.Block)],
)
def test_an_answer_is_lost_or_held(
    stage: Callable[..., Stage], answer: str, action: type[injection.Action]
) -> None:
    play, answered = stage({**WRITE, "answer": answer}), threading.Event()
    play.status("request")
    play.wait_for(lambda: len(play.session.faults.all()) > 0 and _is_prepared(play))
    applied = play.status("response", answered.set)
    assert isinstance(applied, injection.Applied)
    assert isinstance(applied.action, action)
    assert play.ended()[0].late == ""
    assert answered.is_set() == (answer == "held")  # what is held at the end is let go


def test_a_request_that_is_under_way_arrives_at_its_step(stage: Callable[..., Stage]) -> None:
    hold = {**WRITE, "do": "hold-request", "name": "late"}
    play, passed = (
        stage(hold, CREATE, READY, {"do": "arrive", "request": "late"}),
        threading.Event(),
    )
    play.status("request", passed.set)
    play.wait_for(lambda: "create claim-1" in play.objects.done)
    assert not passed.is_set()
    play.objects.done.append("claim-1 bound")
    play.wait_for(passed.is_set)
    play.status("response")
    assert [step.late for step in play.ended()] == [""] * 4


def _is_prepared(play: Stage) -> bool:
    return any(fault.spec.point == "response" for fault in play.session.faults.all())


def test_events_are_held_from_the_step_that_since_names(stage: Callable[..., Stage]) -> None:
    deliver = {"do": "deliver", "client": "scheduler", "events": "resourceclaims/claim-1"}
    play = stage(READY, {**CREATE, "name": "made"}, WRITE, {**deliver, "since": "made"})
    assert play.strike("event", event_type="ADDED", verb="watch") is None
    play.objects.done.append("claim-1 bound")
    play.wait_for(lambda: "create claim-1" in play.objects.done)
    delivered = threading.Event()
    assert play.strike("event", delivered.set, event_type="MODIFIED", verb="watch") is not None
    assert not delivered.is_set()
    play.status("request")
    play.wait_for(lambda: _is_prepared(play))
    play.status("response")
    play.wait_for(delivered.is_set)
    assert [step.late for step in play.ended()] == [""] * 4


def test_a_watch_that_is_to_end_must_have_ended(stage: Callable[..., Stage]) -> None:
    end = {"do": "end-watch", "client": "scheduler", "events": "resourceclaims"}
    play = stage(end, CREATE)
    play.wait_for(lambda: "create claim-1" in play.objects.done)
    assert "an event of resourceclaims for scheduler" in play.ended()[-1].late


def test_a_watch_ends_in_place_of_the_events_that_were_held(stage: Callable[..., Stage]) -> None:
    end = {"do": "end-watch", "client": "scheduler", "events": "resourceclaims/claim-1"}
    play = stage({**CREATE, "name": "made"}, READY, {**end, "since": "made"}, WRITE)
    play.wait_for(lambda: "create claim-1" in play.objects.done)
    ended = threading.Event()
    applied = play.strike("event", ended.set, event_type="ADDED", verb="watch")
    assert applied is not None
    assert injection.is_held_end(applied.action)
    assert not ended.is_set()
    play.objects.done.append("claim-1 bound")
    play.wait_for(ended.is_set)
    assert play.strike("event", event_type="MODIFIED", verb="watch") is None
    play.status("request")
    play.wait_for(lambda: _is_prepared(play))
    play.status("response")
    assert [step.late for step in play.ended()] == [""] * 4


OVERLOOKING = {"do": "delete", "object": "claim-1", "overlooks_finalizers": True}


def test_a_deletion_that_overlooks_finalizers_is_made_when_the_rule_is_there(
    stage: Callable[..., Stage],
) -> None:
    play = stage(OVERLOOKING)
    play.wait_for(lambda: "delete claim-1" in play.objects.done)
    applied = play.strike("request", verb="delete", client="")
    assert applied is not None
    assert isinstance(applied.action, injection.Overlook)
    assert [step.late for step in play.ended()] == [""]


def test_a_server_that_overlooks_no_finalizers_is_told(stage: Callable[..., Stage]) -> None:
    play = stage(OVERLOOKING)
    assert "as the embedded one can" in play.ended()[0].late


def test_processes_are_killed_and_started(stage: Callable[..., Stage]) -> None:
    kill = {"do": "kill", "process": "scheduler"}
    play = stage(kill, {"do": "start", "process": "scheduler", "ready": False}, WRITE)
    play.status("request")
    steps = play.ended()
    assert play.processes.done == ["kill scheduler", "start scheduler"]
    assert [step.late for step in steps] == ["", "", ""]  # a dead client gets no answer
    assert steps[1].seen == "scheduler.2"


def test_a_paused_process_goes_on_in_the_end(stage: Callable[..., Stage]) -> None:
    play = stage({"do": "pause", "process": "scheduler"})
    play.ended()
    assert play.processes.done[-1] == "resume scheduler"


def test_a_state_that_only_a_defect_reaches_is_no_condition(stage: Callable[..., Stage]) -> None:
    play = stage({**READY, "at_most_s": 0.1}, CREATE)
    assert [step.late for step in play.ended()] == ["", ""]
    assert "create claim-1" in play.objects.done


HOLD = {"do": "hold-thread", "name": "held", "client": "scheduler", "at": "entry of Get"}
PASS = {"do": "pass-thread", "client": "scheduler", "at": "return of Get"}


def test_a_thread_is_held_until_the_step_that_releases_it(stage: Callable[..., Stage]) -> None:
    made = {**CREATE, "name": "made"}
    late = {**PASS, "since": "made"}
    play = stage(HOLD, made, late, {"do": "release-thread", "hold": "held"})
    play.wait_for(lambda: play.threads.done == ["arm 1: entry of Get"])
    assert play.objects.done == []
    play.threads.came.add(1)
    play.wait_for(lambda: "arm 3: return of Get" in play.threads.done)
    play.wait_for(lambda: play.objects.done == ["create claim-1"])
    play.threads.came.add(3)
    steps = play.ended()
    assert play.threads.done[-3:] == ["came 3", "release 1: held", "close"]
    assert [step.late for step in steps] == [""] * 4
    assert steps[0].seen == "goroutine 1 at the entry of Get"


def test_a_thread_that_never_comes_is_late_or_passed_over(stage: Callable[..., Stage]) -> None:
    play = stage({**PASS, "at_most_s": 0.1}, HOLD, CREATE)
    first, second = play.ended()
    assert first.late == ""
    assert "it still waited for a thread at the entry of Get" in second.late
    assert play.objects.done == ["close"]
    assert play.threads.done[-1] == "close"
