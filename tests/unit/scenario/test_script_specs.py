"""Scripts: what a step may name, and which mistakes are named."""

from typing import Any

import pydantic
import pytest

from harness.scenario import loading, script_specs, specs
from tests.support import cases

OBJECTS = [
    {"kind": "ResourceClaim", "name": "claim-1"},
    {"kind": "Pod", "name": "pod-1", "claims": ["claim-1"]},
]
CREATE = {"do": "create", "object": "claim-1"}
WRITE = {"do": "request", "client": "scheduler", "of": "resourceclaims/claim-1/status"}
START = {"do": "start", "process": "scheduler"}


def script(*steps: dict[str, Any], **keys: Any) -> script_specs.ScriptTraffic:
    document = {"profile": "script", "objects": OBJECTS, "steps": [*steps], **keys}
    return script_specs.ScriptTraffic.model_validate(document)


def mistake(*steps: dict[str, Any], **keys: Any) -> str:
    with pytest.raises(pydantic.ValidationError) as caught:
        script(*steps, **keys)
    return str(caught.value)


def test_clients_are_those_whose_calls_are_held_and_those_that_are_started() -> None:
    found = script(CREATE, WRITE, START, {**WRITE, "client": "scheduler.2"}, START)
    assert found.started == ["scheduler.2", "scheduler.3"]
    assert found.clients == ["scheduler", "scheduler.2", "scheduler.3"]
    assert found.named_processes == ["scheduler"]


def test_a_request_matches_writes_unless_it_names_a_verb() -> None:
    any_write, listing = script(WRITE, {**WRITE, "verb": "list"}).steps
    assert isinstance(any_write, script_specs.Request)
    assert isinstance(listing, script_specs.Request)
    assert any_write.verbs == script_specs.WRITES
    assert listing.verbs == ("list",)
    assert any_write.target == ("resourceclaims", "claim-1", "status")


def test_the_longest_time_is_that_of_all_steps() -> None:
    steps = [CREATE, {**WRITE, "within_s": 2}, {"do": "wait", "seconds": 5}]
    assert script(*steps, deadline_s=3).longest_s == 3 + 2 + (3 + 5)


@pytest.mark.parametrize(("steps", "words"), cases.read(__file__, "mistakes"))
def test_a_script_that_cannot_be_played_is_refused(steps: list[dict[str, Any]], words: str) -> None:
    assert words in mistake(*steps)


def test_two_objects_of_one_name_are_refused() -> None:
    assert "expected different names" in mistake(CREATE, objects=[*OBJECTS, *OBJECTS])


def test_every_shipped_script_says_what_it_expects_and_tells_steps_by_their_requests() -> None:
    for name in loading.SHELF.names(loading.CONFIRM):
        scenario = loading.load(name).scenario
        assert scenario.name == name
        assert scenario.title.startswith(f"{scenario.known_to_fail}: ")
        script = scenario.traffic
        assert isinstance(script, script_specs.ScriptTraffic)
        assert script.expects, name
        for step in script.steps:
            if isinstance(step, script_specs.Late):
                (earlier,) = [other for other in script.steps if other.name == step.request]
                assert earlier.what in step.text, name
                assert f" {step.request} is" not in step.text, name


def _scenario(traffic: dict[str, Any], **keys: Any) -> specs.Scenario:
    document = {"schema_version": 1, "name": "s", "title": "t", "description": "d"}
    return specs.Scenario.model_validate({**document, "traffic": traffic, **keys})


def test_only_a_script_may_owe_no_load() -> None:
    played = {"profile": "script", "objects": OBJECTS, "steps": [CREATE]}
    assert _scenario(played).load == specs.LoadSpec(allocations_min=0, pods_running_min=0)
    assert _scenario(played, load={"allocations_min": 2}).load.allocations_min == 2
    with pytest.raises(pydantic.ValidationError, match=r"load.allocations_min: expected a number"):
        _scenario({"profile": "churn"}, load={"allocations_min": 0})
    with pytest.raises(
        pydantic.ValidationError,
        match=r"load: expected the least load[^$]*add these two lines:\n\[load\]\nallocations_min = ",
    ):
        _scenario({"profile": "churn"})


HOLD = {"do": "hold-thread", "name": "held", "client": "scheduler", "at": "entry of (*T).Get"}
PASS = {"do": "pass-thread", "client": "scheduler", "at": "return of Get to Run", "at_most_s": 2}
RELEASE = {"do": "release-thread", "hold": "held"}


def test_a_step_that_may_be_passed_over_takes_its_own_time() -> None:
    found = script(HOLD, PASS, {**HOLD, "name": "other", "within_s": 1}, deadline_s=5)
    assert [found.time_of(step) for step in found.steps] == [5, 2, 1]


def test_a_thread_of_a_process_that_a_step_starts_is_known() -> None:
    later = {**HOLD, "client": "scheduler.2"}
    assert script(CREATE, START, later, RELEASE).named_processes == ["scheduler"]
    assert "which no earlier step starts" in mistake(CREATE, later, RELEASE)
