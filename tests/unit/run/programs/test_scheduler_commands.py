"""Command lines and configurations of schedulers other than the Python one."""

import json
import pathlib
from typing import Any

import jsonschema
import pytest

from harness.run.programs import scheduler_commands
from harness.scenario import subject_specs
from tests.stand_ins import commands
from tests.support import cases

SCHEMA = json.loads((commands.HERE / "kube-scheduler-config-v1.schema.json").read_text())


def test_the_command_line_of_kube_scheduler(tmp_path: pathlib.Path) -> None:
    scheduler = subject_specs.KubeScheduler(
        kind="kube-scheduler",
        binary="/opt/kube-scheduler",
        verbosity=6,
        feature_gates={"B": False, "A": True},
    )
    file = tmp_path / "scheduler-configuration.json"
    assert scheduler_commands.kube_scheduler_command(scheduler, file, None) == [
        "/opt/kube-scheduler",
        f"--config={file}",
        "--secure-port=0",
        "--v=6",
        "--feature-gates=A=true,B=false",
    ]
    assert "--v=0" in scheduler_commands.kube_scheduler_command(scheduler, file, 0)


def configuration(*, protobuf: bool = False, **chosen: Any) -> Any:
    """A configuration that kube-scheduler's published types allow."""
    made = scheduler_commands.configuration(
        subject_specs.KubeScheduler(kind="kube-scheduler", scheduler_name="mine"),
        subject_specs.SubjectSpec(**chosen),
        kubeconfig=pathlib.Path("k"),
        namespace="space",
        protobuf=protobuf,
    )
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    return made


@pytest.mark.parametrize("protobuf", [True, False])
@pytest.mark.parametrize(
    ("initial", "most", "seconds"),
    [(0.0, 0.0, [1, 1]), (0.02, 2.5, [1, 3]), (1.0, 10.0, [1, 10]), (30.0, 5.0, [30, 30])],
)
def test_the_configuration_is_one_of_the_published_types(
    protobuf: bool, initial: float, most: float, seconds: list[int]
) -> None:
    made = configuration(protobuf=protobuf, backoff_initial_s=initial, backoff_max_s=most)
    assert [made["podInitialBackoffSeconds"], made["podMaxBackoffSeconds"]] == seconds
    content = f"application/{'vnd.kubernetes.protobuf' if protobuf else 'json'}"
    assert made["clientConnection"]["contentType"].split(",")[0] == content
    assert made["clientConnection"]["kubeconfig"] == "k"
    assert made["profiles"][0]["schedulerName"] == "mine"
    assert made["leaderElection"] == {"leaderElect": False}


def test_leader_election_is_on_if_the_scenario_asks_for_it() -> None:
    times = {"lease_duration_s": 2, "renew_deadline_s": 1.5, "retry_period_s": 0.25}
    assert configuration(leader_election=times)["leaderElection"] == {
        "leaderElect": True,
        "leaseDuration": "2s",
        "renewDeadline": "1.5s",
        "retryPeriod": "0.25s",
        "resourceLock": "leases",
        "resourceName": "mine",
        "resourceNamespace": "space",
    }


@pytest.mark.parametrize(("chosen", "expected"), cases.read(__file__, "timeouts"))
def test_timeouts_of_the_plugin_are_given_if_they_are_not_the_defaults(
    chosen: dict[str, float], expected: dict[str, str] | None
) -> None:
    made = configuration(**chosen)
    (profile,) = made["profiles"]
    named = {"apiVersion": made["apiVersion"], "kind": "DynamicResourcesArgs"}
    wanted = expected and [{"name": "DynamicResources", "args": {**named, **expected}}]
    assert profile.get("pluginConfig") == wanted


def test_a_commands_placeholders_are_filled_in() -> None:
    words = ["sh", "--to={kubeconfig}", "{run_id}-{seed}", "{{}}"]
    values = {"kubeconfig": "/k", "run_id": "abc", "seed": "7"}
    program, *rest = scheduler_commands.filled(words, values)
    assert pathlib.Path(program).name in ("sh", "dash")
    assert rest == ["--to=/k", "abc-7", "{}"]
