"""Claim controllers: parsed, resolved for a cluster, started, and rejected if they cannot work."""

import pathlib
from typing import Any

import pytest

from harness import errors
from harness.cluster import interfaces, providers
from harness.run import run_plan
from harness.run.programs import controller_commands
from harness.scenario import loading, profiles, specs, subject_specs
from tests.stand_ins import commands

WHOLE = interfaces.Capabilities(claim_controller=True)
SHARED = interfaces.Capabilities(exclusive=False)
PROGRAM = "kube-controller-manager"


def manager(**more: Any) -> subject_specs.KubeControllerManager:
    return subject_specs.KubeControllerManager(kind=PROGRAM, **more)


def scenario(name: str, controller: Any) -> specs.Scenario:
    loaded = loading.load(name).scenario
    subject = loaded.subject.model_copy(update={"claim_controller": controller})
    return loaded.model_copy(update={"subject": subject})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python", "python"),
        ("cluster", "cluster"),
        ("external", "external"),
        (PROGRAM, manager()),
        (f"{PROGRAM}=1.36.3", manager(binary="1.36.3")),
        (f"{PROGRAM}=/opt/kcm", manager(binary="/opt/kcm")),
    ],
)
def test_forms(text: str, expected: object) -> None:
    assert controller_commands.parse(text) == expected


@pytest.mark.parametrize(
    ("setting", "on", "message"),
    [
        (manager(), WHOLE, f"claim_controller = '{PROGRAM}', but this one runs its own"),
        ("external", WHOLE, "two controllers would create every claim twice"),
        (manager(), SHARED, "its controller acts in all namespaces, got one that others use"),
    ],
)
def test_what_cannot_be(setting: Any, on: interfaces.Capabilities, message: str) -> None:
    with pytest.raises(errors.UsageError, match=message):
        controller_commands.resolve(setting, on, "/nowhere")


@pytest.mark.parametrize(("protobuf", "kind"), [(False, "json"), (True, "vnd.kubernetes.protobuf")])
def test_the_command_line(protobuf: bool, kind: str) -> None:
    chosen = manager(binary="/opt/kcm", verbosity=5, feature_gates={"A": False})
    argv = controller_commands.command(chosen, kubeconfig=pathlib.Path("/k"), protobuf=protobuf)
    assert argv[0] == "/opt/kcm"
    assert set(argv[1:]) == {
        "--kubeconfig=/k",
        "--controllers=resourceclaim-controller",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        "--secure-port=0",
        f"--kube-api-content-type=application/{kind}",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        "--v=5",
        "--feature-gates=A=false",
    }


def test_the_plan_of_a_run_has_it(tmp_path: pathlib.Path) -> None:
    commands.install(tmp_path, PROGRAM)
    plan = run_plan.plan(
        loading.load("controller-down"), seed=1, claim_controller=PROGRAM, binaries=str(tmp_path)
    )
    assert plan.versions["claim-controller"] == f"{PROGRAM} v1.36.4"
    assert plan.settings["subject"]["claim_controller"]["binary"] == str(tmp_path / PROGRAM)
    assert "claim-controller" in plan.expected_processes
    assert plan.expected_steps == plan.expected_writes == ["scheduler"]
    assert plan.faults[0].clients == ["claim-controller"]
    at = plan.again.index("--claim-controller")
    assert plan.again[at + 1] == PROGRAM


@pytest.mark.parametrize(
    ("setting", "runs_own"),
    [("auto", True), ("cluster", True), ("python", False), ("external", False), (manager(), False)],
)
def test_a_local_cluster_leaves_out_its_own_one(setting: Any, runs_own: bool) -> None:
    """It still collects garbage."""
    profile = profiles.load("local", overrides=["controller_manager=true"])
    suited = profiles.suited(profile, scenario("pod-churn", setting))
    on = providers.of(suited).capabilities
    assert (on.claim_controller, bool(on.claim_controller_process)) == (runs_own, runs_own)
    assert on.garbage_collector


def test_a_kind_cluster_that_keeps_its_own_one_keeps_it() -> None:
    profile = profiles.load("kind", overrides=["claim_controller=true"])
    suited = profiles.suited(profile, scenario("pod-churn", manager()))
    assert providers.capabilities(suited).claim_controller
