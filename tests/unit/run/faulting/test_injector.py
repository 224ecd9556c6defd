"""Faults are switched on when they have to be, recorded, and healed whatever happens."""

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from harness import clocks
from harness.cluster import interfaces
from harness.history import plans
from harness.run.faulting import carriers, injector
from tests.unit.run.faulting import fake_parts


class Run:
    """An injector over fake parts."""

    def __init__(
        self,
        folder: pathlib.Path,
        *faults: plans.PlannedFault,
        carrier: fake_parts.FakeCarrier | None = None,
    ) -> None:
        self.carrier = carrier or fake_parts.FakeCarrier()
        self.processes = fake_parts.FakeProcesses()
        self.restarting = 0
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

    def restart_api_server(self, *, kill: bool, down_s: float) -> interfaces.End:
        self.restarting += 1
        assert self.restarting == 1, "two at a time"
        clocks.sleep(down_s)
        end = interfaces.End.of(self.carrier.restart)
        self.restarting -= 1
        return end

    def start(self) -> None:
        self.injector.start()
        self.injector.subject_is_ready()


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


def windows(run: Run) -> dict[str, Any]:
    return {item.fault: item for item in fake_parts.read(run.path)[1]}


# ------------------------------------------------------------------------------- traffic


def test_a_fault_is_on_before_the_load_and_off_when_it_has_ended(begin: Any) -> None:
    run = begin(fake_parts.fault("lost", times=2))
    run.has_load = False
    run.start()
    assert run.carrier.calls == ["clear", "add lost"]
    assert run.injector.active() == ["lost"]
    run.carrier.apply("lost")
    run.injector.heal()
    assert run.carrier.calls == ["clear", "add lost", "remove lost"]
    assert run.injector.active() == []
    applied, found = fake_parts.read(run.path)
    assert [(item.fault, item.kind, item.client, item.name) for item in applied] == [
        ("lost", "lose-response", "scheduler", "claim-1")
    ]
    assert applied[0].detail == "carried out; the answer was lost"
    assert [(item.fault, item.applied_count, item.error) for item in found] == [("lost", 1, "")]


def test_a_fault_that_is_used_up_ends_at_once(begin: Any) -> None:
    run = begin(fake_parts.fault("lost", times=2))
    run.start()
    run.carrier.apply("lost")
    run.carrier.apply("lost")
    wait(lambda: "remove lost" in run.carrier.calls, "its end")


def test_a_delay_under_way_keeps_a_used_up_fault_on(begin: Any) -> None:
    run = begin(fake_parts.fault("late", "delay-response", seconds=9, times=1))
    run.start()
    item = run.carrier.apply("late", lasts=True)
    wait(lambda: run.journal.count("late"), "it to be counted")
    assert run.injector.active() == ["late"]
    item.ended = fake_parts.now()
    wait(lambda: not run.injector.active(), "its end")


def test_its_time_counts_from_the_first_pod(begin: Any) -> None:
    run = begin(fake_parts.fault("lost", duration_s=0.01))
    run.has_load = False
    run.start()
    clocks.sleep(0.3)
    assert run.injector.active() == ["lost"]
    run.has_load = True
    wait(lambda: not run.injector.active(), "its end")


def test_what_is_let_go_by_healing_is_recorded_with_its_end(begin: Any) -> None:
    run = begin(fake_parts.fault("late", "delay-response", seconds=9))
    run.start()
    run.carrier.apply("late", lasts=True)
    run.injector.heal()
    (applied,), _ = fake_parts.read(run.path)
    assert applied.ended_ns is not None


def test_what_another_run_left_in_the_carrier_is_not_of_this_run(begin: Any) -> None:
    carrier = fake_parts.FakeCarrier()
    carrier.apply("lost")
    run = begin(fake_parts.fault("lost"), carrier=carrier)
    run.start()
    run.injector.heal()
    assert fake_parts.read(run.path)[0] == []


def test_a_fault_begins_after_the_nth_effect_of_another_one(begin: Any) -> None:
    after = {"fault": "lost", "applied": 2}
    run = begin(
        fake_parts.fault("lost"), fake_parts.fault("second", "drop-watch", start_after=after)
    )
    run.start()
    run.carrier.apply("lost")
    clocks.sleep(0.3)
    assert run.injector.active() == ["lost"]
    run.carrier.apply("lost")
    wait(lambda: run.injector.active() == ["lost", "second"], "the second one")


def test_a_fault_that_never_began_has_no_window(begin: Any) -> None:
    run = begin(fake_parts.fault("lost"), fake_parts.fault("never", "drop-watch", start_s=60))
    run.start()
    run.injector.heal()
    assert set(windows(run)) == {"lost"}


def test_a_carrier_that_is_gone_makes_the_record_incomplete(begin: Any) -> None:
    run = begin(fake_parts.fault("lost"))
    run.start()
    run.carrier.is_gone = True
    run.injector.heal()
    text = windows(run)["lost"].error
    assert "it could not be healed: the carrier does not answer" in text
    assert "its effects may not be complete: the carrier does not answer" in text


def test_a_rule_that_the_carrier_refuses(begin: Any) -> None:
    run = begin(fake_parts.fault("lost"), fake_parts.fault("second"))
    run.carrier.is_gone = True
    run.start()
    run.carrier.is_gone = False
    run.injector.heal()
    for name in ("lost", "second"):
        assert "it could not be injected as planned" in windows(run)[name].error


def test_applications_that_the_carrier_has_dropped_are_missed(begin: Any) -> None:
    run = begin(fake_parts.fault("lost"))
    for _ in range(3):
        run.carrier.apply("lost")
    run.carrier.drop(2)
    run.start()
    run.injector.heal()
    assert "the carrier has dropped 2 applications" in windows(run)["lost"].error


def test_a_second_healing_does_nothing(begin: Any) -> None:
    run = begin(fake_parts.fault("lost"))
    run.start()
    run.injector.heal()
    text = run.path.read_text()
    run.injector.heal(is_abandoned=True)
    assert run.path.read_text() == text


# ------------------------------------------------------------------- API server and processes


def test_a_restart_of_the_api_server_keeps_the_faults_that_it_carries(begin: Any) -> None:
    run = begin(
        fake_parts.fault("lost", times=3),
        fake_parts.fault("again", "restart-api-server", start_s=0.5),
    )
    run.start()
    run.carrier.apply("lost", "claim-1")
    wait(lambda: run.carrier.calls[-1:] == ["add lost"] and "restart" in run.carrier.calls, "it")
    assert run.carrier.calls == ["clear", "add lost", "remove lost", "restart", "add lost"]
    assert run.carrier.rules["lost"]["count"] == 2
    run.carrier.apply("lost", "claim-2")
    run.injector.heal()
    applied, found = fake_parts.read(run.path)
    assert [item.name for item in applied if item.fault == "lost"] == ["claim-1", "claim-2"]
    assert [(item.process, item.detail) for item in applied if item.fault == "again"] == [
        ("api-server", "stopped and started again")
    ]
    assert {item.fault: (item.applied_count, item.error) for item in found} == {
        "lost": (2, ""),
        "again": (1, ""),
    }


@pytest.mark.parametrize(
    ("kind", "keys", "calls"),
    [
        (
            "kill-process",
            {"times": 2, "down_s": 0, "interval_s": 0.01},
            ["kill scheduler for it", "start scheduler"] * 2,
        ),
        ("restart-process", {}, ["terminate scheduler for it", "start scheduler"]),
        ("pause-process", {"seconds": 0.01}, ["pause scheduler for it", "resume scheduler"]),
        ("take-over", {}, ["kill scheduler for it", "start scheduler"]),
        (
            "take-over",
            {"ends": "terminate", "overlap_s": 0.01},
            ["start scheduler", "terminate scheduler for it"],
        ),
    ],
)
def test_faults_of_a_process(begin: Any, kind: str, keys: dict[str, Any], calls: list[str]) -> None:
    run = begin(fake_parts.fault("it", kind, **keys))
    run.start()
    wait(lambda: run.processes.calls == calls and not run.injector.active(), "all of it")
    run.injector.heal()
    applied, found = fake_parts.read(run.path)
    assert {(item.process, item.ended_ns is not None) for item in applied} == {("scheduler", True)}
    assert (found[0].applied_count, found[0].error) == (len(applied), "")


def test_a_process_is_not_touched_before_the_subject_is_ready(begin: Any) -> None:
    run = begin(fake_parts.fault("it", "kill-process"))
    run.injector.start()
    clocks.sleep(0.3)
    assert run.processes.calls == []
    run.injector.heal()
    assert run.processes.calls == []


@pytest.mark.parametrize("is_abandoned", [False, True])
def test_healing_in_mid_fault(begin: Any, is_abandoned: bool) -> None:
    still = fake_parts.fault("still", "pause-process", seconds=60)
    run = begin(
        fake_parts.fault("down", "kill-process", down_s=60),
        msgspec.structs.replace(still, clients=["kubelet"]),
    )
    run.start()
    wait(lambda: len(run.processes.calls) == 2, "both to begin")
    run.injector.heal(is_abandoned=is_abandoned)
    assert "resume kubelet" in run.processes.calls
    assert ("start scheduler" in run.processes.calls) == (not is_abandoned)


def test_a_scheduler_that_is_only_paused_goes_on_in_the_end(begin: Any) -> None:
    run = begin(fake_parts.fault("it", "take-over", ends="pause"))
    run.start()
    wait(lambda: len(run.processes.calls) == 2, "the successor")
    assert run.injector.active() == ["it"]
    run.injector.heal()
    assert run.processes.calls == ["pause scheduler for it", "start scheduler", "resume scheduler"]


def test_a_process_that_is_gone_or_does_not_start_is_an_error_in_the_record(begin: Any) -> None:
    run = begin(fake_parts.fault("it", "kill-process", down_s=0))
    run.processes.fails = True
    run.start()
    wait(lambda: run.journal.count("it") and not run.injector.active(), "its end")
    run.injector.heal()
    text = windows(run)["it"].error
    assert "it could not be injected as planned: expected to start scheduler" in text


def test_a_process_that_has_ended_before(begin: Any) -> None:
    run = begin(fake_parts.fault("it", "kill-process"))
    run.processes.is_dead = True
    run.start()
    wait(lambda: "it" in run.journal.begun() and not run.injector.active(), "its end")
    run.injector.heal()
    assert "expected scheduler to run, but it has ended" in windows(run)["it"].error
    assert windows(run)["it"].applied_count == 0


@pytest.mark.parametrize("required", [True, False])
def test_the_load_waits_for_faults_that_take_long(begin: Any, required: bool) -> None:
    keys = {"times": 2, "down_s": 0.01, "interval_s": 0.01, "required": required}
    run = begin(fake_parts.fault("it", "kill-process", start_s=0.2, **keys))
    assert run.injector.is_awaited() is required
    run.start()
    wait(lambda: run.journal.ended_count("it") == 2, "both")
    assert not run.injector.is_awaited()


def test_nothing_waits_for_a_fault_that_has_failed(begin: Any) -> None:
    run = begin(fake_parts.fault("it", "kill-process", times=9, down_s=0))
    run.processes.fails = True
    run.start()
    wait(lambda: run.injector.has_ended("it"), "its failure")
    assert not run.injector.is_awaited()


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
