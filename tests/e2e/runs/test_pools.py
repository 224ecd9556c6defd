"""A whole run with a further kind of pools: the judge of consumption, and its page."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from harness.checks.devices import device_consumption
from harness.history import directories
from tests.e2e import running

pytestmark = pytest.mark.e2e
POOLS = """devices_per_node = 0
[[pools.more]]
name = "fabric"
place = "device"
devices = 8
limit = 2
"""


def test_counters_of_one_node_are_found_and_their_objects_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(running.SMALL_SCENARIO.replace("devices_per_node = 3\n", POOLS))
    code, output = running.called(
        tmp_path, "run", str(path), "--defect", "counters-of-one-node", "--until-found"
    )
    assert code == verdicts.Verdict.INVALID.exit_code, output
    directory = running.run_directory(tmp_path)
    [found] = [
        check
        for check in judging.judge(directories.existing(directory)).checks
        if check.check == device_consumption.CHECK.name
    ]
    page = (directory / "report.html").read_text()
    objects = found.violations[0].objects
    assert {item.kind for item in objects} == {"ResourceClaim", "ResourceSlice"}
    for item in objects:
        assert item.name in output
        assert item.name in page
