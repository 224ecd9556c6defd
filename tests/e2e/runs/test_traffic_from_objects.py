"""Users create what manifests say: a Job whose pods share a claim and have one of their own."""

import json
import pathlib

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e
SCENARIO = pathlib.Path(__file__).with_suffix(".toml").read_text()
JOB = pathlib.Path(__file__).with_suffix(".yaml").read_text()


def test_jobs_of_a_manifest_are_valid_and_a_known_defect_is_caught(tmp_path: pathlib.Path) -> None:
    """And the run is judged again when the manifest is gone."""
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "job.yaml").write_text(JOB)
    code, text = running.called(tmp_path, "run", "small.toml")
    assert code == 0, text
    directory = running.run_directory(tmp_path)
    started = running.text(directory / "preparations-kubelet.jsonl").splitlines()
    names = {json.loads(line).get("container") for line in started}
    assert names >= {"first", "beside", "work"}

    defect = ["--defect", "gather-not-atomic", "--until-found", "--reports", "found"]
    code, text = running.called(tmp_path, "run", "small.toml", *defect)
    assert code == 10, text
    assert "device_exclusivity" in text
    (tmp_path / "job.yaml").unlink()
    code, text = running.called(tmp_path, "check", str(directory))
    assert code == 0, text
