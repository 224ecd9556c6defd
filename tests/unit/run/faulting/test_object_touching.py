"""A client that changes objects while the API server does not answer."""

import pathlib

import pytest

from harness import concurrency, errors
from harness.client import apis, transports
from harness.history import plans
from harness.run.faulting import fault_journal, injecting, object_touching


class DeadTransport:
    """A transport to a server that is down."""

    def send(self, request: transports.Request) -> transports.Response:
        raise transports.TransportError("connection refused", sent=False)

    def watch(self, request: transports.Request) -> transports.Watch:
        raise transports.TransportError("connection refused", sent=False)

    def close(self) -> None:
        pass


class Ending:
    is_abandoned = False

    def __init__(self) -> None:
        self.over, self.load_begun = concurrency.Event("over"), concurrency.Event("begun")


def touching(folder: pathlib.Path, *, drawn_by: str) -> injecting.Injection:
    fault = plans.PlannedFault(
        name="touched",
        kind="touch-objects",
        carrier="run",
        text="Objects are changed.",
        duration_s=0.1,
        drawn_by=drawn_by,
        parameters={"resource": "pods", "object_name": "*", "rate_per_s": 50.0},
    )
    journal = fault_journal.FaultJournal(folder / "faults.jsonl", run_id="touching")
    return object_touching.ObjectTouching(
        fault, apis.Api(DeadTransport()), journal, namespace="ns", run_id="touching"
    )


def test_a_fault_of_the_scenario_that_changes_nothing_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.FaultError, match="no object could be changed"):
        touching(tmp_path, drawn_by="").last(Ending())


def test_one_that_a_nemesis_has_drawn_has_no_effect_then(tmp_path: pathlib.Path) -> None:
    touching(tmp_path, drawn_by="nemesis").last(Ending())
