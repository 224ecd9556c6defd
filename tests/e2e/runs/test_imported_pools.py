"""Whole runs whose devices come from a file: unequal partitions, two drivers, three copies."""

import json
import pathlib
import shutil

import pytest

from harness.checks import judging, verdicts
from harness.history import directories
from tests.e2e import running
from tests.support import mig_objects

pytestmark = pytest.mark.e2e


@pytest.fixture
def scenario(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a scenario in a folder of its own, with the file that it names."""
    folder = tmp_path / "scenario"
    folder.mkdir()
    (folder / "slices.yaml").write_text(mig_objects.TEXT)
    text = running.SMALL_SCENARIO.replace("nodes = 2\ndevices_per_node = 3\n", mig_objects.POOLS)
    path = folder / "small.toml"
    path.write_text(text + mig_objects.CLAIMS)
    return path


def test_the_correct_subject_is_valid_and_the_run_needs_no_file_outside(
    tmp_path: pathlib.Path, scenario: pathlib.Path
) -> None:
    code, output = running.called(tmp_path, "run", str(scenario))
    assert code == 0, output
    shutil.rmtree(scenario.parent)
    directory = running.run_directory(tmp_path)
    assert judging.judge(directories.existing(directory)).verdict is verdicts.Verdict.VALID
    saved = json.loads((directory / "pool-objects.json").read_text())
    kinds = [item["kind"] for item in saved["items"]]
    assert kinds == ["Node", "DeviceClass", "DeviceClass", *["ResourceSlice"] * 3]
    steps = running.text(directory / "observations.jsonl")
    assert mig_objects.NODE not in steps
    for name in ("worker-2-gpu.example.com", '"name":"worker-1"', "half-1", "nic-0"):
        assert name in steps, name
