"""Pools that change in a real run: changed by the kubelets, seen by the scheduler, and judged."""

import collections
import json
import pathlib

import pytest

from harness.history import directories, journal_reader, records
from tests.e2e import running

pytestmark = pytest.mark.e2e
CHANGES = """
[[pools.changes]]
kind = "renew"
slices = 2
start_s = 0.1
every_s = 0.2
times = 3
[[pools.changes]]
kind = "taint"
by = "rule"
pools = 0
start_s = 0.1
every_s = 0.4
lasts_s = 0.3
times = 3
[traffic]"""


def test_pools_change_and_every_change_is_certified(tmp_path: pathlib.Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(running.SMALL_SCENARIO.replace("[traffic]", CHANGES))
    settings = ("--set", "limits.progress_s=20", "--set", "traffic.duration_s=2")
    code, output = running.called(tmp_path, "run", str(scenario), *settings)
    assert code == 0, output
    path = running.run_directory(tmp_path)
    verdict = json.loads((path / "verdict.json").read_text())
    [item] = [item for item in verdict["certificate"] if item["name"] == "pool-changes"]
    assert (item["ok"], item["reason"]) == (True, "3 times renew-1, 3 times taint-2")
    journal = journal_reader.read(directories.RunDirectory(path).pool_changes("kubelet"))
    changes = [record for record in journal.records if isinstance(record, records.PoolChanged)]
    undone = collections.Counter(item.change for item in changes if item.undone)
    assert undone["taint-2"] == 3
    rules = rule_events(directories.RunDirectory(path))
    assert rules["ADDED"] == rules["DELETED"] == 3 * 2, "a rule for each of the two pools"


def rule_events(directory: directories.RunDirectory) -> collections.Counter[str]:
    body = journal_reader.read(directory.observations).records
    return collections.Counter(
        record.type
        for record in body
        if isinstance(record, records.Observation) and record.resource == "devicetaintrules"
    )
