"""Plug-ins bring defects of kubelets and drivers; each is used by the process that has its part."""

import pathlib

import pytest

from harness import errors
from harness.cluster.dra import claim_infos, claim_managers, kubelet_defects
from harness.cluster.driver import drivers
from harness.run.defects import known_defects
from harness.subject import assembling
from tests.support import cases, plugin_packages


@pytest.fixture(autouse=True)
def plugins(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"broken_nodes.py": cases.read(__file__, "module")}
    named = {"defects": cases.read(__file__, "defects")}
    plugin_packages.install(tmp_path, monkeypatch, "broken-nodes", named, files)


def test_a_driver_of_a_plugin_replaces_ours_in_runs_and_as_a_program() -> None:
    assert known_defects.actor("plugin-without-files") == "driver"
    assert known_defects.named("plugin-without-files").facts.check == "prepared_containers"
    parts = kubelet_defects.parts(["plugin-without-files"])
    assert issubclass(parts.driver, drivers.Driver)
    assert parts.driver is not drivers.Driver
    assert kubelet_defects.driver_parts(["plugin-without-files"]).driver is parts.driver


def test_a_checkpoint_of_a_plugin_is_a_part_of_the_kubelet() -> None:
    assert known_defects.of_part(["plugin-forgetful"], "kubelet") == ["plugin-forgetful"]
    parts = kubelet_defects.parts(["plugin-forgetful"])
    assert parts.checkpoint is not claim_infos.Checkpoint
    assert parts.manager is claim_managers.ClaimManager


def test_a_part_of_the_scheduler_is_none_of_the_kubelet() -> None:
    assert kubelet_defects.CATALOGUE.find("plugin-in-flight-forgotten") is None
    assert known_defects.actor("plugin-in-flight-forgotten") == "scheduler"
    assembling.parts(["plugin-in-flight-forgotten"])


def test_what_is_no_part_of_anything_is_refused() -> None:
    with pytest.raises(errors.PluginError, match="to be a subclass of a part of"):
        known_defects.named("plugin-nonsense")
