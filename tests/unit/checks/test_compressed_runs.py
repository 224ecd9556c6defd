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


@pytest.mark.parametrize(
    "name",
    [
        "device_exclusivity/VALID",
        "device_exclusivity/INVALID",
        "device_exclusivity/UNKNOWN-gap",
        "claim_progress/VALID",
        "claim_progress/INVALID",
        "bound_pods/INVALID",
        "selected_devices/VALID",
    ],
)
def test_a_golden_run_has_the_same_verdict_in_both_forms(tmp_path: pathlib.Path, name: str) -> None:
    plain = judging.judge(directories.existing(specimens.GOLDEN / name))
    shutil.copytree(specimens.GOLDEN / name, tmp_path / "run")
    directory = directories.existing(tmp_path / "run")
    _compress(directory)
    found = judging.judge(directory)
    assert (found.verdict, found.reason) == (plain.verdict, plain.reason)
    assert found.checks == plain.checks
    assert found.certificate == plain.certificate
    assert "observations.jsonl.zst" in found.evidence
    assert "observations.jsonl" not in found.evidence


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
