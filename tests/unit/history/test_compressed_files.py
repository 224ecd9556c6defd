"""Evidence that is compressed when a run has ended: the same records, verdicts and answers."""

import errno
import pathlib
import shutil
from collections.abc import Iterator

import pytest

from harness.checks import judging, verdict_files
from harness.history import (
    compressed_files,
    directories,
    journal_reader,
    journal_writer,
    manifests,
    plans,
    records,
)
from harness.serving import live_runs
from tests.histories import specimens

GOLDEN = sorted(path.parent for path in specimens.GOLDEN.glob("*/*/plan.json"))


def compressed(source: pathlib.Path, target: pathlib.Path) -> directories.RunDirectory:
    shutil.copytree(source, target)
    directory = directories.existing(target)
    for path in [*directory.journals(), *directory.audit_logs()]:
        if path.suffix not in (".zst", ".gz"):
            compressed_files.compress(path)
    if directory.manifest.exists():
        manifests.write(directory, run_id=plans.read(directory.plan).run_id)
    return directory


def said(judgement: verdict_files.Judgement) -> list[object]:
    answers = [
        (check.check, check.verdict, check.violations, check.reason.replace(".zst", ""))
        for check in judgement.checks
    ]
    items = [(item.question, item.ok) for item in judgement.certificate]
    return [judgement.verdict, judgement.reason.replace(".zst", ""), answers, items]


@pytest.mark.parametrize("name", ["device_exclusivity", "claim_progress", "prepared_devices"])
def test_golden_runs_have_the_same_verdicts(tmp_path: pathlib.Path, name: str) -> None:
    for source in sorted((specimens.GOLDEN / name).iterdir()):
        directory = compressed(source, tmp_path / source.name)
        assert not [*directory.path.glob("*.jsonl")]
        assert said(judging.judge(directory)) == said(judging.judge(directories.existing(source)))


@pytest.fixture
def journal(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "steps-scheduler.jsonl"
    writer = journal_writer.Writer(path, process="scheduler", run_id="r")
    for number in range(3000):
        writer.write(records.Phase(ts_ns=number, name="x" * 500))
    writer.close()
    return path


def test_the_last_line_has_a_frame_of_its_own(journal: pathlib.Path) -> None:
    path = compressed_files.compress(journal)
    trailer = journal_reader.last_trailer(path)
    assert trailer is not None
    assert (trailer.count, journal.exists()) == (3000, False)


def test_any_content_comes_back(tmp_path: pathlib.Path) -> None:
    for number, content in enumerate([b"", b"x", b"\n", b"a\nb", b"a" * 9000, b"a\n" * 9000]):
        path = tmp_path / f"{number}.log"
        path.write_bytes(content)
        with journal_reader.opened(compressed_files.compress(path)) as file:
            assert file.read() == content


def test_a_disk_that_is_full_leaves_the_file_as_it_is(
    journal: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Iterator[bytes]:
        yield b"begun"
        raise OSError(errno.ENOSPC, "no space left on device")

    before = journal.read_bytes()
    monkeypatch.setattr(compressed_files, "frames", full)
    with pytest.raises(OSError, match="no space"):
        compressed_files.compress(journal)
    assert [path.name for path in journal.parent.iterdir()] == [journal.name]
    assert journal.read_bytes() == before


def test_small_files_and_links_stay_as_they_are(
    tmp_path: pathlib.Path, journal: pathlib.Path
) -> None:
    directory = directories.create(tmp_path / "run")
    small = directory.operations("traffic-0")
    small.write_bytes(b"x" * (compressed_files.LEAST_BYTES - 1))
    directory.steps("scheduler").write_bytes(b"y" * compressed_files.LEAST_BYTES)
    directory.operations("link").symlink_to(journal)
    for name, size in (("scheduler", compressed_files.LEAST_LOG_BYTES), ("kubelet", 9)):
        directory.log(name).write_bytes(b"z" * size)
    compressed_files.compress_run(directory)
    names = {path.name for path in directory.path.rglob("*") if path.is_file()}
    assert names == {
        "operations-traffic-0.jsonl",
        "steps-scheduler.jsonl.zst",
        "operations-link.jsonl",
        "scheduler.log.zst",
        "kubelet.log",
    }
    assert directory.steps("scheduler").name == "steps-scheduler.jsonl.zst"
    assert directory.log("scheduler").name == "scheduler.log.zst"


def test_a_run_is_followed_while_it_is_compressed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The open plain file is read to its end, and the compressed form not once more."""
    source = specimens.GOLDEN / "device_exclusivity" / "VALID"
    shutil.copytree(source, tmp_path / "run")
    directory = directories.existing(tmp_path / "run")
    seen: list[object] = []
    own = live_runs.LiveRun._see
    monkeypatch.setattr(
        live_runs.LiveRun,
        "_see",
        lambda self, tail, record: (seen.append(record), own(self, tail, record)),
    )
    following = live_runs.LiveRun(directory.path)
    assert following.read(at_most_s=10)
    count = len(seen)
    for path in directory.journals():
        compressed_files.compress(path)
    assert following.read(at_most_s=10)
    assert (len(seen) > 0, len(seen)) == (True, count)
    following.close()
    again = live_runs.LiveRun(directory.path)
    assert again.read(at_most_s=10)
    assert len(seen) == 2 * count
    again.close()
