"""The forms of `subject.driver`, and the processes that come of each."""

from typing import Any

import pytest

from harness.run.programs import driver_commands
from harness.scenario import loading, pool_specs, subject_specs

NODES = ("worker-0", "worker-1")


def pools(*more: str) -> pool_specs.PoolsSpec:
    kinds = [{"name": f"k{index}", "driver": name, "devices": 1} for index, name in enumerate(more)]
    return pool_specs.PoolsSpec.model_validate({"nodes": 2, "more": kinds})


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("in-process", []),
        ("socket", [("driver", NODES, ("a.example", "b.example"))]),
        ("command=x {kubeconfig}", [("driver", NODES, ("a.example", "b.example"))]),
        (
            "command=x {node}",
            [
                ("driver", ("worker-0",), ("a.example", "b.example")),
                ("driver-2", ("worker-1",), ("a.example", "b.example")),
            ],
        ),
        (
            "command=x {driver}",
            [("driver", NODES, ("a.example",)), ("driver-2", NODES, ("b.example",))],
        ),
    ],
)
def test_a_process_serves_what_its_command_does_not_name(text: str, served: list[Any]) -> None:
    own = pools("b.example").model_copy(update={"driver": "a.example"})
    scenario = loading.load("pod-churn").scenario
    subject = subject_specs.SubjectSpec(driver=text)
    found = driver_commands.of_run(scenario.model_copy(update={"pools": own, "subject": subject}))
    assert [(place.process, place.nodes, place.drivers) for place in found] == served
