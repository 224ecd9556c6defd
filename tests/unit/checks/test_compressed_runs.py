"""Run directories with compressed observations: the same verdicts, and one form only."""

import pathlib
import shutil

import pytest

from harness.checks import judging, verdicts
from harness.history import directories, histories, manifests, plans
from tests.histories import building, damages, specimens

VALID, INVALID = "a+D1 p* a~ b+D1", "a+D1 p* b+D1"
COMPRESSED = {"compression": "zstd"}


def _build(path: pathlib.Path, text: str) -> directories.RunDirectory:
    return building.build(path / "run", text, changes=COMPRESSED, sealed=True)


def _compress(directory: directories.RunDirectory) -> None:
    """Write the observations again, in the other form, and the manifest."""
    plain, path = directory.observations, directory.new_observations("zstd")
    lines = plain.read_bytes().splitlines(keepends=True)
    path.write_bytes(specimens.pack(path.name, lines))
    plain.unlink()
    manifests.write(directory, run_id=plans.read(directory.plan).run_id)


def test_a_change_is_named(tmp_path: pathlib.Path) -> None:
    directory = _build(tmp_path, VALID)
    damages.changed(damages.observations, lambda body: body[:-1])(directory)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "observations.jsonl.zst was changed after the run" in judgement.reason


@pytest.mark.parametrize("cut", [1, 4, 5, 60, 200])
def test_a_torn_frame_is_a_torn_line(tmp_path: pathlib.Path, cut: int) -> None:
    directory = building.build(tmp_path / "run", INVALID, changes=COMPRESSED)
    path = directory.observations
    path.write_bytes(path.read_bytes()[:-cut])
    reader = histories.load(directory.path).observations()
    assert reader is not None
    list(reader)
    assert reader.ended_in_order("observations") == (
        False,
        "the last line of the observations is incomplete: the writer was killed",
    )


@pytest.mark.parametrize("text", [VALID, INVALID])
def test_both_forms_are_two_writers(tmp_path: pathlib.Path, text: str) -> None:
    directory = building.build(tmp_path / "run", text)
    shutil.copytree(directory.path, tmp_path / "other")
    _compress(directories.existing(tmp_path / "other"))
    shutil.copy(tmp_path / "other" / "observations.jsonl.zst", directory.path)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    both = [
        "observations.jsonl is there beside observations.jsonl.zst: two writers shared the run directory, or one is a copy: remove the copy",
        "observations.jsonl.zst is there beside observations.jsonl: two writers shared the run directory, or one is a copy: remove the copy",
    ]
    assert histories.load(directory.path).damages() == both
    assert both[0] in judgement.reason
    assert {"observations.jsonl", "observations.jsonl.zst"} <= judgement.evidence.keys()
