"""Mistakes of users: one clear message, the designed exit code, no traceback."""

import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

FlakeHunt = Callable[..., tuple[int, str, str]]
BROKEN_SCENARIO = """
schema_version = 1
name = "broken"
title = "t"
description = "d"
colour = "blue"
[traffic]
profile = "churn"
usrs = 3
[load]
allocations_min = 1
pods_running_min = 1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The user's folder, and the state of clusters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "nope"], 2, "Shipped scenarios: admin-access, answer-lost, "),
        (["run", "broken.toml"], 2, "traffic.usrs: unknown key (value 3)"),
        (["run", "broken.toml"], 2, "colour: unknown key (value 'blue')"),
        (["run", "torn.toml"], 2, "torn.toml: expected TOML"),
        (["run", "pod-churn", "--defect", "nope"], 2, "Known defects: admin-access-charged"),
        (["run", "pod-churn", "--set", "nope"], 2, "expected --set key=value"),
        (["run", "pod-churn", "--set", "traffic.users=0"], 2, "traffic.users"),
        (["run", "pod-churn", "--cluster", "nope"], 2, "Shipped cluster profiles: embedded"),
        (["run", "pod-churn", "--nope"], 2, "flake-hunt run --help"),
        (["hunt", "nope"], 2, "expected a scenario file"),
        (["hunt", "--jobs", "many"], 2, "--jobs: expected a valid integer"),
        (["hunt", "--jobs", "0"], 2, "--jobs: expected at least 1, got '0'"),
        (["cluster", "up", "--nodes", "5001"], 2, "--nodes: expected at most 5000, got"),
        (["explore", "--time", "x"], 2, "--time: expected a number of seconds, or"),
        (["doctor", "--output", "yaml"], 2, "--output: 'yaml' is not one of 'text', 'json'"),
        (
            ["part", "claim-controller", "--kubeconfig", "k", "--set", "release=1.35"],
            2,
            "Known releases: 1.34.2,",
        ),
        (
            [
                "part",
                "claim-controller",
                "--kubeconfig",
                "k",
                "--set",
                "feature_gates=DRAAdmin=true",
            ],
            2,
            "Did you mean 'DRAAdminAccess'?",
        ),
        (["cluster", "lst"], 2, "Did you mean 'list'?"),
        (["hunt", "--repeat", "0", "--repeat-controls", "0"], 2, "expected at least one run"),
        (
            ["run", "pod-churn", "--defect", "gather-not-atomc"],
            2,
            "Did you mean 'gather-not-atomic'?",
        ),
        (["run", "pod-churn", "--subject", "kube-schedular"], 2, "Did you mean 'kube-scheduler'?"),
        (["run", "pod-churn", "--cluster", "embeded"], 2, "Did you mean 'embedded'?"),
        (["run", "pod-churn", "--cluster", "prot=1"], 2, "Did you mean 'port'?"),
        (
            ["run", "pod-churn", "--set", 'controls=["nope"]'],
            2,
            "expected a known defect, got 'nope'",
        ),
        (["run", "pod-churn", "--set", "claim.devices=3"], 2, "claim.devices: expected at most"),
        (["run", "pod-churn", "--set", 'claim.selectors=["false"]'], 2, "but 0 match: false"),
        (["explore", "two-claims-one-devise"], 2, "Did you mean 'two-claims-one-device'"),
        (["explore", "--strategy", "exhaustiv"], 2, "Did you mean 'exhaustive'?"),
        (["doctor", "kin"], 2, "Did you mean 'kind'?"),
        (["check", "nowhere"], 2, "nowhere does not exist"),
        (["check", "torn.toml"], 2, "torn.toml is a file: name the folder of one run"),
        (["check", "."], 2, "has no plan.json"),
        (["report", "."], 2, "has no plan.json"),
        (["part", "scheduler", "--kubeconfig", "nowhere"], 2, "expected a readable kubeconfig"),
        (["part", "scheduler", "--kubeconfig", "torn.toml"], 2, "torn.toml"),
        (["part", "kubelet", "--kubeconfig", "broken.toml"], 2, "expected a kubeconfig"),
        (
            ["part", "apiserver", "--kubeconfig", "k", "--set", "host=192.0.2.1"],
            2,
            "expected a loopback",
        ),
        (
            ["part", "apiserver", "--kubeconfig", "k", "--set", "feature_gates=x=true"],
            2,
            "Known gates: DRAL",
        ),
        (["cluster", "down", "nope"], 2, "expected a cluster's name, got 'nope'"),
    ],
)
def test_a_mistake(
    folder: pathlib.Path, flake_hunt: FlakeHunt, arguments: list[str], code: int, message: str
) -> None:
    (folder / "broken.toml").write_text(BROKEN_SCENARIO)
    (folder / "torn.toml").write_text("x = [")
    found, _, complaint = flake_hunt(*arguments)
    assert message in complaint
    assert "Traceback" not in complaint
    assert found == code
    assert not list(folder.glob("reports/*/*/plan.json"))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["hunt", "--help"], ["cluster", "--help"]]
)
def test_help_teaches(flake_hunt: FlakeHunt, arguments: list[str]) -> None:
    code, out, _ = flake_hunt(*arguments)
    assert code == 0
    assert "Usage" in out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, harness.cli.commands\nharness.cli.commands.make_app()\n"
        "print({'pandas', 'locust', 'gevent', 'pydantic', 'numpy'} & set(sys.modules))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "set()\n"
