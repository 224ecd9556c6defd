"""Threads that a run holds: the program has to have the places, and to be one in Go of its own."""

import pathlib
from typing import Any

import pytest

from harness import errors
from harness.run import subjects, thread_plans
from harness.scenario import specs
from tests.support import go_tables

TEXT = 0x401000
NAMES = ["main.main", "example.org/x/cache.(*Book).Assume", "main.run", "runtime.mallocgc"]
FUNCTIONS = {name: TEXT + 0x20 * number for number, name in enumerate(NAMES)}
OBJECTS = [{"kind": "ResourceClaim", "name": "claim-1"}]
HOLD = {"do": "hold-thread", "name": "held", "client": "scheduler", "at": "entry of Assume"}
TRY = {"do": "try-orders", "client": "scheduler", "functions": ["(*Book).Assume"]}


@pytest.fixture
def program(tmp_path: pathlib.Path) -> pathlib.Path:
    """A program in Go, as far as one looks at it without starting it."""
    end = TEXT + 0x20 * len(NAMES)
    code = (go_tables.CHECK + bytes(0x1C)) * len(NAMES)
    table = go_tables.table(FUNCTIONS, text=TEXT, end=end)
    path = tmp_path / "program"
    path.write_bytes(go_tables.elf({".text": (TEXT, code), ".gopclntab": (0x500000, table)}))
    path.chmod(0o755)
    return path


def scenario(*steps: dict[str, Any], **subject: Any) -> specs.Scenario:
    document: dict[str, Any] = {"schema_version": 1, "name": "s", "title": "t", "subject": subject}
    script = {"profile": "script", "objects": OBJECTS, "steps": [*steps]}
    return specs.Scenario.model_validate({**document, "traffic": script})


def by_command(program: pathlib.Path | str) -> dict[str, Any]:
    scheduler = subjects.parse(f"command={program} {{kubeconfig}}")
    return {"schedulers": [scheduler]}


def test_a_program_that_has_the_places_is_traced(program: pathlib.Path) -> None:
    place = {**HOLD, "at": "return of (*Book).Assume to main.run | main.other"}
    made = scenario(place, TRY, **by_command(program))
    thread_plans.require_places(made)
    assert thread_plans.traced(made) == ["scheduler"]


def test_a_run_that_names_no_place_traces_nothing() -> None:
    made = scenario({"do": "create", "object": "claim-1"})
    thread_plans.require_places(made)
    assert thread_plans.traced(made) == []
    assert thread_plans.at_random(made, 1) is None


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({**HOLD, "at": "entry of Asume"}, "Did you mean 'Assume'"),
        ({**HOLD, "at": "entry of Assume called by main.start"}, "got 'main.start'"),
        ({**HOLD, "at": "return of Assume to runtime.*"}, "outside Go's runtime"),
        ({**TRY, "functions": ["(*Book).Release"]}, "got '(*Book).Release'"),
        ({**HOLD, "client": "claim-controller"}, "expected a claim-controller that is a program"),
    ],
)
def test_a_place_that_cannot_be_is_refused(
    program: pathlib.Path, step: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.UsageError) as caught:
        thread_plans.require_places(scenario(step, **by_command(program)))
    assert words in str(caught.value)


def test_our_scheduler_in_python_has_named_steps_instead() -> None:
    with pytest.raises(errors.UsageError, match="expected a key `step` beside `at`"):
        thread_plans.require_places(scenario(HOLD))
    thread_plans.require_places(scenario({**HOLD, "step": "gather.devices.cloned"}))
    with pytest.raises(errors.UsageError, match="expected a scheduler in Go, whose orders"):
        thread_plans.require_places(scenario(TRY))


def test_the_pause_of_a_traced_program_is_refused(program: pathlib.Path) -> None:
    pause = {"do": "pause", "process": "scheduler"}
    made = scenario(HOLD, pause, **by_command(program))
    with pytest.raises(errors.UsageError, match="expected no pause of scheduler"):
        thread_plans.require_places(made)
    thread_plans.require_places(scenario(HOLD, {**pause, "do": "kill"}, **by_command(program)))


def test_another_kind_of_machine_is_refused(
    program: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(errors.UsageError, match="expected Linux on x86-64 or aarch64"):
        thread_plans.require_places(scenario(HOLD, **by_command(program)))


def load(**keys: Any) -> specs.Scenario:
    document = {"schema_version": 1, "name": "s", "title": "t", "traffic": {"profile": "churn"}}
    minimum = {"allocations_min": 1, "pods_running_min": 1}
    return specs.Scenario.model_validate({**document, "load": minimum, **keys})


def test_threads_of_a_load_are_held_at_random(program: pathlib.Path) -> None:
    made = load(subject={**by_command(program), "hold_threads": 0.2})
    assert thread_plans.traced(made) == ["scheduler"]
    tried = thread_plans.at_random(made, 7)
    assert tried is not None
    assert (tried.functions, tried.seed, tried.probability) == (None, 7, 0.2)
    assert thread_plans.at_random(load(), 7) is None


def test_threads_can_be_held_where_the_program_is_one_in_go(program: pathlib.Path) -> None:
    assert thread_plans.can_be_held(load(subject=by_command(program)))
    assert not thread_plans.can_be_held(load())
    assert not thread_plans.can_be_held(load(subject=by_command("sh")))
    assert not thread_plans.can_be_held(scenario(HOLD, **by_command(program)))
