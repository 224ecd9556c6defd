"""Faults are switched on when they have to be, recorded, and healed whatever happens."""

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks, concurrency, errors
from harness.cluster import components
from harness.history import plans
from harness.run.faulting import carriers, injector
from tests.support import cases
from tests.unit.run.faulting import fake_parts


class Run:
    def __init__(
        self,
        folder: pathlib.Path,
        *faults: plans.PlannedFault,
        carrier: fake_parts.FakeCarrier | None = None,
    ) -> None:
        self.carrier = carrier or fake_parts.FakeCarrier()
        self.processes = fake_parts.FakeProcesses()
        is_carried = any(item.rule for item in faults)
        self.calls = self.carrier.calls if is_carried else self.processes.calls
        self.restarting = 0
        self.held: Any = None
        self.path, self.has_load = folder / "faults.jsonl", True
        stage = fake_parts.stage(folder, self.processes, faults=faults, cluster=self)
        self.journal = stage.journal
        kinds = {item.name: item.kind for item in faults}
        stage.session = stage.carried = carriers.CarrierSession(
            self.carrier,  # type: ignore[arg-type]
            self.journal,
            kinds=kinds,
        )
        self.injector = injector.Injector(stage, has_load=lambda: self.has_load)

    def restart_api_server(self, *, kill: bool, down_s: float) -> components.End:
        self.restarting += 1
        assert self.restarting == 1, "two at a time"
        clocks.sleep(down_s)
        alive_ns = clocks.monotonic_ns()
        self.carrier.restart()
        self.restarting -= 1
        return components.End(alive_ns, clocks.monotonic_ns())

    def start(self) -> None:
        self.injector.start()
        self.injector.subject_ready.set()


@pytest.fixture
def begin(tmp_path: pathlib.Path) -> Iterator[Callable[..., Run]]:
    """Makes a run of faults, which is healed in the end."""
    runs: list[Run] = []

    def make(*faults: plans.PlannedFault, **parts: Any) -> Run:
        runs.append(Run(tmp_path, *faults, **parts))
        return runs[-1]

    yield make
    for run in runs:
        run.injector.heal()


def wait(condition: Callable[[], object], why: str) -> None:
    clocks.wait_until(condition, timeout_s=fake_parts.TIMEOUT_S, why=why)


def _does(run: Run, text: str) -> None:
    it, carrier, journal = run.injector, run.carrier, run.journal
    step, *names = text.split()
    acts: dict[str, Callable[[], object]] = {
        "begin": it.start,
        "start": run.start,
        "idle": lambda: setattr(run, "has_load", False),
        "load": lambda: setattr(run, "has_load", True),
        "apply": lambda: carrier.apply(*names),
        "hold": lambda: setattr(run, "held", carrier.apply(*names, lasts=True)),
        "let": lambda: setattr(run.held, "ended", fake_parts.now()),
        "drop": lambda: carrier.drop(int(names[0])),
        "stuck": lambda: setattr(carrier, "is_stuck", True),
        "gone": lambda: setattr(carrier, "is_gone", True),
        "back": lambda: setattr(carrier, "is_gone", False),
        "failing": lambda: setattr(run.processes, "fails", True),
        "stubborn": lambda: setattr(run.processes, "kill", lambda *_, **__: 1 / 0),
        "dead": lambda: setattr(run.processes, "is_dead", True),
        "pause": lambda: clocks.sleep(0.3),
        "heal": it.heal,
        "abandon": lambda: it.heal(is_abandoned=True),
    }
    conditions: dict[str, Callable[[], object]] = {
        "awaited": it.is_awaited,
        "not": lambda: not it.is_awaited(),
        "active": lambda: it.active() == names,
        "called": lambda: len(run.calls) == int(names[0]),
        "begun": lambda: names[0] in journal.begun(),
        "counted": lambda: journal.count(names[0]),
        "done": lambda: journal.ended_count(names[0]) == int(names[1]),
        "ended": lambda: it.has_ended(names[0]),
    }
    if step in acts:
        acts[step]()
    else:
        wait(conditions[step], text)


@pytest.mark.parametrize("case", cases.read(__file__, "cases"), ids=lambda case: case["it"])
def test_a_fault(
    begin: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]
) -> None:
    monkeypatch.setattr(injector, "LASTING_TIMEOUT_S", 0.2)
    carrier = fake_parts.FakeCarrier()
    if "left" in case:
        carrier.apply(case["left"])
    run = begin(*(fake_parts.fault(**keys) for keys in case["faults"]), carrier=carrier)
    for text in case["do"]:
        _does(run, text)
    run.injector.heal()
    text = run.path.read_text()
    run.injector.heal(is_abandoned=True)
    assert run.path.read_text() == text, "a second healing does nothing"
    applied, windows = fake_parts.read(run.path)
    if "calls" in case:
        assert run.calls == case["calls"]
    if "effects" in case:
        assert [
            " ".join(filter(None, (item.fault, item.kind, item.client, item.process, item.name)))
            + f": {item.detail}"
            for item in applied
        ] == case["effects"]
    if not {"abandon", "failing", "stubborn", "stuck"} & set(case["do"]):
        assert all(item.ended_ns is not None for item in applied)
    for item in windows:
        times = [one.begun_ns for one in applied if one.fault == item.fault]
        assert sorted([item.begun_ns, *times, item.ended_ns]) == [
            item.begun_ns,
            *times,
            item.ended_ns,
        ]
    if "windows" in case:
        assert {item.fault: item.applied_count for item in windows} == case["windows"]
    told = case.get("errors", {})
    assert [item.fault for item in windows if item.error and item.fault not in told] == []
    for item in windows:
        assert [part for part in told.get(item.fault, ()) if part not in item.error] == []


def test_restarts_of_the_api_server_wait_for_each_other(begin: Any) -> None:
    """Two that overlap would move one manifest twice."""
    names = ["one", "two"]
    run = begin(*(fake_parts.fault(name, "restart-api-server", down_s=0.1) for name in names))
    run.start()
    wait(lambda: all(run.injector.has_ended(name) for name in names), "both")
    run.injector.heal()
    applied, windows = fake_parts.read(run.path)
    assert [item.error for item in windows] == ["", ""]
    first, second = sorted(applied, key=lambda item: item.begun_ns)
    assert first.alive_ns <= first.dead_ns <= first.ended_ns <= second.begun_ns


def test_a_fault_that_does_not_end_and_a_journal_that_fails_are_told(
    begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(injector, "HEAL_TIMEOUT_S", 0.1)
    run, over = begin(fake_parts.fault("it", "kill-process")), concurrency.Event("over")
    monkeypatch.setattr(run.processes, "kill", lambda *_, **__: over.wait())
    run.start()
    wait(lambda: run.journal.count("it"), "the kill")
    run.injector.require_journal()
    run.injector.heal()
    over.set()
    assert "`fault it` did not end within 0.1 s" in fake_parts.read(run.path)[1][0].error
    run.journal.failure = errors.StorageError("full")
    with pytest.raises(errors.StorageError):
        run.injector.require_journal()
