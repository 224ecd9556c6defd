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
from tests.support import cases
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


class Objects:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def create(self, item: script_specs.ScriptObject) -> None:
        self.calls.append(f"create {item.name}")

    def find(self, text: str) -> tuple[apis.Resource, str]:
        return apis.CLAIMS, text

    def delete(self, text: str, *, force: bool) -> None:
        self.calls.append(f"delete {text}{' by force' * force}")

    def has_state(self, text: str, state: str) -> bool:
        return f"{text} {state}" in self.calls

    def close(self) -> None:
        self.calls.append("close")


class Threads:
    """Threads that come to their places as the tests say."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.came: set[int] = set()

    def arm(self, number: int, step: script_specs.OfThread, patience: holding.Patience) -> None:
        del patience
        self.calls.append(f"arm {number}: {step.at}")

    def await_visit(
        self, number: int, step: script_specs.OfThread, patience: holding.Patience
    ) -> str:
        patience.until(lambda: number in self.came, f"a thread at the {step.at}")
        self.calls.append(f"came {number}")
        return f"goroutine {number} at the {step.at}"

    def release(self, number: int, step: script_specs.HoldThread) -> None:
        self.calls.append(f"release {number}: {step.name}")

    def close(self) -> None:
        self.calls.append("close")


def _is_held(action: injection.Action) -> bool:
    return isinstance(action, injection.Block) or injection.is_held_end(action)


class Stage:
    """A player with its parts, playing on a thread."""

    def __init__(self, folder: pathlib.Path, steps: list[dict[str, Any]], patch: Any) -> None:
        self.session, self.processes, self.objects = (
            Session(),
            fake_parts.FakeProcesses(),
            Objects(),
        )
        self.threads, self.passed = Threads(), dict[str, threading.Event]()
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
            self.strike("request", verb="watch", resource=resource, subresource="", name="")

    def strike(
        self, point: injection.Point, resume: Callable[[], None] = lambda: None, **facts: Any
    ) -> injection.Applied | None:
        """Let a request, answer or event of the scheduler pass; return what hits it."""
        found = {
            "verb": "update",
            "path": "/",
            "client": "scheduler",
            "resource": "resourceclaims",
            "subresource": "" if point == "event" else "status",
            "namespace": NAMESPACE,
            "name": "claim-1",
            **facts,
        }
        applied = self.session.faults.strike(point, matching.Facts(**found))
        if applied is not None and _is_held(applied.action):
            self.session.faults.wait(applied, resume)
        return applied

    def do(self, what: str | dict[str, Any]) -> None:
        if isinstance(what, dict):
            self._strike_as(**what)
            return
        step, _, rest = what.partition(" ")
        acts: dict[str, Callable[[], object]] = {
            "bound": lambda: self.objects.calls.append("claim-1 bound"),
            "came": lambda: self.threads.came.add(int(rest)),
            "held": lambda: not self.passed[rest].is_set(),
            "not": lambda: self.objects.calls == [],
            "free": lambda: self.wait_for(self.passed[rest].is_set),
            "done": lambda: self.wait_for(lambda: rest in self.objects.calls),
            "armed": lambda: self.wait_for(lambda: rest in self.threads.calls),
            "prepared": lambda: self.wait_for(self._is_prepared),
        }
        assert acts[step]() in {None, True}, what

    def _strike_as(self, strike: injection.Point, **facts: Any) -> None:
        resume = self.passed.setdefault(facts.pop("as", ""), threading.Event()).set
        hit = facts.pop("hit", "any")
        applied = self.strike(strike, resume, **facts)
        kind = type(applied.action).__name__ if applied else None
        if applied and hit == "held end":
            assert injection.is_held_end(applied.action)
        else:
            assert hit in {"any", kind}

    def _is_prepared(self) -> bool:
        return any(fault.spec.point == "response" for fault in self.session.faults.all())

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


@pytest.mark.parametrize("case", cases.read(__file__, "cases"), ids=lambda case: case["it"])
def test_a_script(stage: Callable[..., Stage], case: dict[str, Any]) -> None:
    play = stage(*case["steps"])
    for what in case["do"]:
        play.do(what)
    steps = play.ended()
    assert len(steps) == len(case["late"])
    for step, part in zip(steps, case["late"], strict=True):
        assert part in step.late if part else step.late == ""
    assert {number: steps[number].seen for number in case.get("seen", {})} == case.get("seen", {})
    for part in {"objects", "processes", "threads"} & case.keys():
        assert getattr(play, part).calls[-len(case[part]) :] == case[part]
    assert play.session.faults.all() == []
