"""Clusters that remove claims of pods that are gone, and others."""

import json
import pathlib
from typing import Any

import pytest

from harness.checks import protocol
from harness.checks.progress import resource_leaks
from harness.history import directories, histories, records
from tests.histories import building


def _works(directory: directories.RunDirectory) -> bool:
    history = histories.load(directory.path)
    evidence = protocol.Evidence(history.plan, history=history)
    return evidence[resource_leaks.GarbageCollection].works


MANAGED = {"kube-apiserver": "v1.36.2", "kube-controller-manager": "v1.36.2"}


@pytest.mark.parametrize(
    ("changes", "versions", "phase", "works"),
    [
        ({"cluster": "embedded"}, {}, "", True),
        ({"cluster": "kind"}, {}, "", True),
        ({"cluster": "local"}, {"kube-apiserver": "v1.36.2"}, "", False),
        ({"cluster": "local"}, MANAGED, "", True),
        ({"cluster": "local", "collects_garbage": True}, {}, "", True),
        ({"cluster": "local", "collects_garbage": False}, MANAGED, "", False),
        ({"cluster": "kubeconfig"}, {"kubernetes": "v1.36.2"}, "", False),
        ({"cluster": "kubeconfig"}, {}, resource_leaks.WORKS, True),
        ({"cluster": "kubeconfig"}, {}, resource_leaks.FAILS, False),
    ],
)
def test_a_cluster_collects_garbage_if_that_is_known(
    changes: dict[str, Any],
    versions: dict[str, str],
    phase: str,
    works: bool,
    tmp_path: pathlib.Path,
) -> None:
    names = ["load", phase, "ended"] if phase else []
    phases = [records.Phase(name=name, ts_ns=number) for number, name in enumerate(names)]
    directory = building.build(tmp_path / "run", "a+D1", changes=changes, phases=phases)
    directory.cluster.write_text(json.dumps({"versions": versions}))
    assert _works(directory) is works


@pytest.mark.parametrize("content", ["", "[]", "{", '{"versions": 1}'])
def test_a_damaged_record_of_the_cluster_says_nothing(content: str, tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1", changes={"cluster": "local"})
    directory.cluster.write_text(content)
    assert not _works(directory)
