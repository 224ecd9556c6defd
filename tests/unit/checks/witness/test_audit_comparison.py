"""The item of the certificate: whether the audit log tells the same, in words."""

import gzip
import pathlib

import pytest

from harness.checks import judging, verdicts
from harness.checks.witness import audit_comparison, hidden_writes, witnessed_writes
from harness.history import directories, plans
from tests.histories import audit_logs, building

TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1"
FEW = plans.Requirements(allocations_min=1, pods_running_min=1)
WITHOUT_BODIES = b"".join(
    audit_logs.line(event | {"responseObject": None, "level": "Metadata"})
    for event in audit_logs.events(TEXT)
)


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return building.build(tmp_path / "run", TEXT, audited=True, requirements=FEW)


def item(
    directory: directories.RunDirectory, *brought: pathlib.Path
) -> verdicts.CertificateItem | None:
    judgement = judging.examine(directory, witness=brought).judgement
    (found,) = [one for one in judgement.certificate if one.name == "witness"] or [None]
    if found is not None and not found.ok:
        assert judgement.verdict is not verdicts.Verdict.VALID
    return found


def log(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.audit / "audit.log"


def test_a_run_with_its_audit_log_is_valid(directory: directories.RunDirectory) -> None:
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.VALID, judgement.reason
    found = item(directory)
    assert found is not None
    assert found.question == "Does the audit log tell the same?"
    assert found.reason == "8 writes and 3 holds are the same in 8 events (0.0 MiB)"
    assert "audit/audit.log" in judgement.evidence


def test_a_run_without_one_is_not_asked(tmp_path: pathlib.Path) -> None:
    plain = building.build(tmp_path / "run", TEXT, requirements=FEW)
    assert item(plain) is None
    brought = tmp_path / "brought.log.gz"
    brought.write_bytes(gzip.compress(audit_logs.lines(TEXT)))
    found = item(plain, brought)
    assert found is not None
    assert found.ok, found.reason


def test_a_line_that_is_missing_is_named(directory: directories.RunDirectory) -> None:
    lines = log(directory).read_bytes().splitlines(keepends=True)
    for index, name in enumerate(["a", "a", "p", "b", "a", "b", "q", "c"]):
        log(directory).write_bytes(b"".join(lines[:index] + lines[index + 1 :]))
        judgement = judging.judge(directory)
        assert judgement.verdict is verdicts.Verdict.UNKNOWN
        assert f"tests/{name} at revision {index + 1}" in judgement.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "there is no audit log, though the plan expects one"),
        (b"", "the audit log has no events"),
        (b"\x00\x01\n", "the audit log has no events; audit.log, line 1: expected an audit event"),
        (
            WITHOUT_BODIES,
            "only requests that tell no object, the first is there without its objects",
        ),
        (
            audit_logs.lines(TEXT).replace(b"uid-", b"other-"),
            "8 differences|none of the 8 observed writes is in the audit log",
        ),
        (audit_logs.lines(TEXT)[:-400], "writes may be missing for it"),
        (
            b"".join(audit_logs.line(event) for event in audit_logs.events(TEXT)[3:]),
            "the log begins at revision 3 only|the log begins at revision 4 only",
        ),
    ],
)
def test_what_is_wrong_with_the_log_is_said(
    directory: directories.RunDirectory, content: bytes | None, reason: str
) -> None:
    log(directory).unlink()
    if content is not None:
        log(directory).write_bytes(content)
    found = item(directory)
    assert found is not None
    assert not found.ok
    assert any(words in found.reason for words in reason.split("|")), found.reason


def test_damage_for_which_no_write_is_missing_does_not_matter(
    directory: directories.RunDirectory,
) -> None:
    lines = log(directory).read_bytes()
    log(directory).write_bytes(b"panic: some other program\n" + lines + lines[:30])
    found = item(directory)
    assert found is not None
    assert found.ok
    assert "the log has 2 damaged lines (no write was missing for it), first audit.log, line 1" in (
        found.reason
    )


def test_a_run_that_observed_nothing_has_nothing_to_compare(tmp_path: pathlib.Path) -> None:
    empty = building.build(tmp_path / "run", ".", audited=True)
    (empty.audit / "audit.log").write_bytes(audit_logs.lines(TEXT))
    found = item(empty)
    assert found is not None
    assert (found.ok, "nothing to compare" in found.reason) == (False, True)


def heard(*versions: int) -> str:
    """The answer of two witnesses that differ at these revisions; the log begins at revision 5."""
    log = audit_comparison.AuditLog([pathlib.Path("audit.log")], namespace="n")
    log.reader.events = 9
    log.folded.adopt("pods", witnessed_writes.state_of({"metadata": META}), is_deletion=False)
    compared = audit_comparison.Comparison(writes=9, confirmed=1)
    compared.note(
        hidden_writes.Difference(what=f"claim n/{version}", version=version, watch="a", audit="b")
        for version in versions
    )
    ok, reason = audit_comparison.answer(audit_comparison.AuditComparison(log, compared))
    assert not ok
    return reason.split("; the log has")[0]


META = {"name": "p", "uid": "u", "resourceVersion": "5"}


def test_differences_are_counted_and_the_first_ones_are_told() -> None:
    one = "claim n/7 at revision 7: the watch a, the audit log b"
    assert heard(7) == f"1 difference: {one}"
    assert heard(7, 8).startswith(f"2 differences: {one}; claim n/8 at revision 8")
    many = heard(*range(7, 16))
    assert many.count("the watch a") == audit_comparison.SHOWN_MAX
    assert many.endswith(f"and {9 - audit_comparison.SHOWN_MAX} more")


@pytest.mark.parametrize(
    ("versions", "is_late"), [([0], False), ([5, 9], False), ([0, 9], False), ([4, 9], True)]
)
def test_a_log_is_late_if_a_difference_is_before_its_first_write(
    versions: list[int], is_late: bool
) -> None:
    assert ("the log begins at revision 5 only" in heard(*versions)) is is_late
