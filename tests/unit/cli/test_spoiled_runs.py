"""Every file of a run directory, spoiled: `check` and `report` say so, and neither says VALID."""

import functools
import os
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from harness.checks import judging, verdicts
from harness.history import directories
from harness.report import publishing
from tests.histories import damages, specimens

RECORDED = {item.name: item for item in specimens.recorded()}
NOT_JUDGED = {
    "logs/scheduler.log": b"I1122 15:00:00.000000 1 scheduler.go:1] started\n",
    "kubelet/checkpoints/worker-0.json": b"{}\n",
}
"""Files of a run that the recorded ones were stripped of."""
RENDERED = ("verdict.json", "report.html", "junit.xml", "trace.json")
"""Files that judging writes again."""
VALID = specimens.Specimen(
    "VALID", verdicts.Verdict.VALID, RECORDED["recorded/VALID-pod-churn"].files | NOT_JUDGED
)
FAULTY = RECORDED["recorded/INVALID-faulty"]
COMPRESSED = specimens.compressed(VALID)
PUBLISHED = {chosen.name: chosen for chosen in (VALID, FAULTY, COMPRESSED)}
CASES = [
    *((VALID, name) for name in (*VALID.files, "manifest.json")),
    (COMPRESSED, "observations.jsonl.zst"),
    (FAULTY, "faults.jsonl"),
    (FAULTY, "pool-changes-kubelet.jsonl"),
]
IDS = [f"{chosen.name.rpartition('/')[2]}, {name}" for chosen, name in CASES]


Publish = Callable[[specimens.Specimen], directories.RunDirectory]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Publish:
    """Run directories as `flake-hunt run` leaves them; each is judged once."""
    folder = tmp_path_factory.mktemp("originals")

    @functools.cache
    def original(name: str) -> directories.RunDirectory:
        chosen = PUBLISHED[name]
        directory = specimens.write(chosen, folder / str(len(list(folder.iterdir()))), {})
        examination = judging.examine(directory)
        assert examination.judgement.verdict is chosen.verdict
        publishing.publish(examination)
        return directory

    return lambda chosen: original(chosen.name)


@pytest.fixture
def published(originals: Publish, tmp_path: pathlib.Path) -> Publish:
    def copied(chosen: specimens.Specimen) -> directories.RunDirectory:
        shutil.copytree(originals(chosen).path, tmp_path / "run")
        return directories.RunDirectory(tmp_path / "run")

    return copied


HANDS = ["missing", "empty", "cut", "a folder", "a FIFO", "a device", "a link to nothing"]
by_hand = pytest.mark.parametrize("how", HANDS)


@by_hand
@pytest.mark.parametrize(("chosen", "name"), CASES, ids=IDS)
def test_a_file_that_was_spoiled_by_hand_is_named(
    flake_hunt: Any,
    published: Publish,
    chosen: specimens.Specimen,
    name: str,
    how: str,
) -> None:
    directory = published(chosen)
    damages.spoil(directory.path / name, how)
    code, out, err = flake_hunt("report", str(directory.path))
    assert (code, out, "Traceback" in err) == (2, "", False)
    code, out, err = flake_hunt("check", str(directory.path))
    assert name in out + err
    assert "Traceback" not in err
    if name == "plan.json":
        assert (code, out) == (2, "")
    else:
        worse = verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
        assert code in ([20] if chosen is not FAULTY else [item.exit_code for item in worse])


@by_hand
@pytest.mark.parametrize("name", RENDERED)
def test_what_judging_writes_is_no_evidence(
    flake_hunt: Any,
    published: Publish,
    name: str,
    how: str,
) -> None:
    """It is written again, or the place is named where it cannot be written."""
    directory = published(VALID)
    damages.spoil(directory.path / name, how)
    code, out, _ = flake_hunt("check", str(directory.path))
    assert out.startswith("VALID")
    assert code == 0
    if how == "a folder":
        assert "This verdict and its report are not in" in out
    else:
        assert (directory.path / name).is_file()
        assert not (directory.path / name).is_symlink()


@pytest.mark.parametrize("name", ["operations-scheduler.jsonl", "plan.json", "audit/audit.log"])
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(
    flake_hunt: Any, published: Publish, name: str
) -> None:
    directory = published(VALID)
    (directory.path / name).chmod(0)
    code, out, err = flake_hunt("check", str(directory.path))
    assert code in (2, 20)
    assert name.rpartition("/")[2] in out + err


def test_a_verdict_that_was_copied_here_is_refused(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    """No green page about a run that is INVALID."""
    sound = specimens.write(VALID, tmp_path / "sound", {})
    publishing.publish(judging.examine(sound))
    broken = specimens.write(RECORDED["recorded/INVALID-pod-churn"], tmp_path / "broken", {})
    sound.verdict.replace(broken.verdict)
    code, out, err = flake_hunt("report", str(broken.path))
    assert (code, out) == (2, "")
    assert "expected the verdict on run" in err
    assert not [path for path in broken.pages() if path.exists()]
    code, out, _ = flake_hunt("check", str(broken.path))
    assert (code, out.split()[0]) == (10, "INVALID")
    assert "<failure" in broken.junit.read_text()
