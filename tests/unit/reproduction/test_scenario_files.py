"""The file of a scenario gives the scenario again, and nothing of the machine."""

import pathlib
import tomllib

import pytest

from harness.reproduction import scenario_files
from harness.scenario import loading, specs, subject_specs
from tests.unit.reproduction import scenarios


@pytest.mark.parametrize("name", loading.SHELF.names())
def test_every_shipped_scenario_comes_back(name: str, tmp_path: pathlib.Path) -> None:
    scenario = loading.load(name).scenario
    path = tmp_path / "scenario.toml"
    path.write_text(scenario_files.text(scenario))
    assert loading.load(str(path)).scenario == scenario


def test_only_keys_that_differ_from_their_defaults_are_written() -> None:
    document = tomllib.loads(scenario_files.text(scenarios.scenario()))
    assert set(document) == {
        *("schema_version", "name", "title", "description"),
        *("pools", "traffic", "load", "faults"),
    }
    assert document["pools"] == {"nodes": 2, "devices_per_node": 20}
    assert document["faults"][1] == {
        "kind": "delay-events",
        "seconds": 0.8,
        "on": {"resource": "resourceclaims"},
    }


def test_binaries_and_programs_are_named_without_their_folders() -> None:
    schedulers = [
        {"kind": "kube-scheduler", "binary": "/home/me/bin/kube-scheduler"},
        {
            "kind": "command",
            "command": ["/home/me/sched", "--config=/etc/me/c.yaml", "{kubeconfig}"],
        },
    ]
    controller = {"kind": "kube-controller-manager", "binary": "/home/me/bin/kcm", "verbosity": 7}
    subject = {"schedulers": schedulers, "claim_controller": controller}
    text = scenario_files.text(scenarios.scenario(subject=subject))
    loaded = specs.Scenario.model_validate(tomllib.loads(text)).subject
    assert loaded.claim_controller == subject_specs.KubeControllerManager(
        kind="kube-controller-manager", verbosity=7
    )
    found = loaded.schedulers
    assert found[0] == subject_specs.KubeScheduler(kind="kube-scheduler")
    assert isinstance(found[1], subject_specs.CommandScheduler)
    assert found[1].command == ["sched", "--config=c.yaml", "{kubeconfig}"]
    assert "/home/me" not in text


def test_descriptions_have_no_paths() -> None:
    text = scenario_files.text(
        scenarios.scenario(description='see "/home/me/notes.txt"\n\\ and """')
    )
    assert tomllib.loads(text)["description"] == 'see "…/notes.txt"\n\\ and """'
