"""Every file of a run directory, spoiled: `check` and `report` say so, and neither says VALID."""

import functools
import os
import pathlib
import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.checks import judging, verdicts
from harness.checks.witness import audit_history
from harness.history import directories, journal_reader
from harness.report import publishing
from tests.histories import damages, specimens

RECORDED = {item.name: item for item in specimens.recorded()}
NOT_JUDGED = {
    "logs/scheduler.log": b"I1122 15:00:00.000000 1 scheduler.go:1] started\n",
    "kubelet/checkpoints/worker-0.json": b"{}\n",
}
"""Files of a run that the recorded ones were stripped of."""
UNREAD = ("scenario.toml", "cluster.json", *NOT_JUDGED)
"""Files that no judge reads: only the manifest tells that they were changed."""
RENDERED = ("verdict.json", "report.html", "junit.xml", "summary.md", "trace.json")
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
    """A copy of one of them."""

    def copied(chosen: specimens.Specimen) -> directories.RunDirectory:
        shutil.copytree(originals(chosen).path, tmp_path / "run")
        return directories.RunDirectory(tmp_path / "run")

    return copied


# ------------------------------------------------------------------------------ by hand


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


# ------------------------------------------------------- with a manifest that was made right


def _with_bytes_that_are_no_text(content: bytes) -> bytes:
    half = len(content) // 2
    return content[:half] + b"\xff\xfe" + content[half:]


def _nested_deep(content: bytes) -> bytes:
    header, _, _ = content.partition(b"\n")
    return header + b'\n{"record":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"


def _with_huge_numbers(content: bytes) -> bytes:
    return re.sub(rb"(?<=:)(\s?)\d+", rb"\g<1>" + b"9" * 5_000, content)


def _of_a_newer_schema(content: bytes) -> bytes:
    content = re.sub(rb'"schema":\s?\d+', b'"schema": 99', content)
    return content.replace(b"audit.k8s.io/v1", b"records.k8s.io/v9")


def _of_another_run(content: bytes) -> bytes:
    return content.replace(b"%b" % RUN_ID, b"0" * len(RUN_ID))


def _binary(content: bytes) -> bytes:
    return bytes(range(256)) * 4


LINE_MAX = 2**20
"""Instead of 64 MiB; lines of that size are in `test_damage`."""


def _with_a_line_that_is_too_long(content: bytes) -> bytes:
    return b"x" * (LINE_MAX + 1) + b"\n" + content


RUN_ID = re.search(rb'"run_id": ?"([^"]+)"', VALID.files["plan.json"])[1]  # type: ignore[index]
CONTENTS = (
    _with_bytes_that_are_no_text,
    _nested_deep,
    _with_huge_numbers,
    _of_a_newer_schema,
    _of_another_run,
    _binary,
    _with_a_line_that_is_too_long,
)


@pytest.mark.parametrize("change", CONTENTS, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", VALID.files)
def test_contents_that_were_spoiled_are_noticed_in_spite_of_the_manifest(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    change: Callable[[bytes], bytes],
) -> None:
    for reader in (journal_reader, audit_history):
        monkeypatch.setattr(reader, "LINE_MAX", LINE_MAX)
    content = change(VALID.files[name])
    directory = specimens.write(VALID, tmp_path / "run", {name: content})
    if name == "plan.json" and change is not _of_another_run:
        with pytest.raises(errors.RunDirectoryError, match=r"plan\.json") as caught:
            judging.examine(directories.existing(directory.path))
        assert len(str(caught.value)) < 1_000
        return
    examination = judging.examine(directory)
    publishing.publish(examination)
    expected = verdicts.Verdict.VALID if name in UNREAD else verdicts.Verdict.UNKNOWN
    assert examination.judgement.verdict is expected
    assert directory.report.stat().st_size < 2**20
