"""Damaged evidence: the verdict is UNKNOWN, its reason names the file and the line, and the report
can still be drawn.
"""

import os
import pathlib
import re
import resource
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import errors
from harness.checks import judging, verdicts
from harness.history import directories, histories, journal_reader
from harness.report import publishing
from tests.histories import building, damages, language, specimens

INVALID = "a+D1 p* b+D1 a-D1 b^q q* c+D2"


def _replaced(file: damages.File, line: int, content: bytes) -> damages.Damage:
    """One line is something else."""

    def damage(directory: directories.RunDirectory) -> None:
        lines = file(directory).read_bytes().splitlines(keepends=True)
        lines[line - 1] = content
        file(directory).write_bytes(b"".join(lines))

    return damage


def _in_object(old: bytes, new: bytes) -> damages.Damage:
    """Something else stands in the first object that was observed."""

    def damage(directory: directories.RunDirectory) -> None:
        content = directory.observations.read_bytes()
        assert old in content
        directory.observations.write_bytes(content.replace(old, new, 1))

    return damage


def _spoiled(how: str) -> Callable[[damages.File], damages.Damage]:
    return lambda file: lambda directory: damages.spoil(file(directory), how)


def _endless(file: damages.File) -> damages.Damage:
    """A line has no end: the file system gives zeros without storing them."""

    def damage(directory: directories.RunDirectory) -> None:
        os.truncate(file(directory), journal_reader.LINE_MAX + 2**20)

    return damage


NESTED = b"[" * 100_000 + b"]" * 100_000
DEEP_RECORD = b'{"record":"phase","name":"load","ts_ns":1,"more":' + NESTED + b"}\n"
HUGE = b'{"record":"phase","name":"load","ts_ns":' + b"9" * 40 + b"}\n"
INCOMPLETE = ", line 2: expected a complete record"
OF_A_FILE: dict[str, tuple[Callable[[damages.File], damages.Damage], str]] = {
    "a record nested 100,000 deep": (lambda file: _replaced(file, 2, DEEP_RECORD), ", line 2: "),
    "a time beyond all bounds": (lambda file: _replaced(file, 2, HUGE), INCOMPLETE),
    "garbage in the middle": (
        lambda file: _replaced(file, 2, b"\x00\x1b[31mgarbage\n"),
        INCOMPLETE,
    ),
    "a folder": (_spoiled("a folder"), ": expected a file, got a folder"),
    "a FIFO": (_spoiled("a FIFO"), ": expected a file, got a FIFO"),
    "a device": (_spoiled("a device"), ": expected a file, got a device"),
    "a line without an end": (
        _endless,
        f": expected a line of at most {journal_reader.LINE_MAX} bytes",
    ),
    "of another run": (
        damages.of_another_run,
        ": expected a file of run f00dfeed (plan.json), got one of run another",
    ),
}
DAMAGES: dict[str, tuple[damages.Damage, str]] = {
    "a byte 0xff in an object": (
        _in_object(b'"metadata": {"name": "', b'"metadata": {"name": "\xff'),
        "observations.jsonl, line ",
    ),
    "an object nested 100,000 deep": (
        _in_object(b'"metadata": {', b'"deep":' + NESTED + b',"metadata": {'),
        "observations.jsonl, line ",
    ),
    **{
        f"{name}, {file.__name__}": (damage(file), reason)
        for name, (damage, reason) in OF_A_FILE.items()
        for file in damages.FILES
    },
}


def _build(path: pathlib.Path, text: str = INVALID) -> directories.RunDirectory:
    step = building.step(1, "scheduling", "gather.started", language.at(1))
    return building.build(path / "run", text, steps=[step])


@pytest.mark.parametrize(("damage", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_damage_makes_unknown_and_is_named(
    tmp_path: pathlib.Path, damage: damages.Damage, reason: str
) -> None:
    directory = _build(tmp_path, "a+D1 p* a~ b+D1")
    damage(directory)
    examination = judging.examine(directory)
    assert examination.judgement.verdict is verdicts.Verdict.UNKNOWN
    assert examination.judgement.exit_code == 20
    assert reason in examination.judgement.reason
    publishing.publish(examination)
    assert "UNKNOWN" in directory.report.read_text()


def test_the_line_of_what_is_no_object_is_named_whatever_is_read_with_it(
    tmp_path: pathlib.Path,
) -> None:
    many = " b+D1 b-D1" * 200
    asking = {"settings": {"traffic": {"profile": "script", "expects": ["generated_claims"]}}}
    directory = building.build(tmp_path / "run", f"p:?{many} a<p p?a{many}", changes=asking)
    _in_object(b'"metadata": {"name": "a"', b'"metadata": {"labels": 5, "name": "a"')(directory)
    assert "observations.jsonl, line 405: expected an object" in judging.judge(directory).reason


def test_a_release_that_was_cut_out_is_no_double_allocation(tmp_path: pathlib.Path) -> None:
    """Lines are missing in the middle: what they would have shown is not known."""
    directory = _build(tmp_path, "a+D1 a-D1 b+D1")
    lines = directory.observations.read_bytes().splitlines(keepends=True)
    [release] = [
        i
        for i, line in enumerate(lines)
        if b'"resource_version":2,' in line and b"MODIFIED" in line
    ]
    directory.observations.write_bytes(b"".join([*lines[:release], *lines[release + 1 :]]))
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "the trailer counts" in judgement.reason


@pytest.mark.parametrize("text", ["a+D1 p* a~ b+D1", "a+D1 p* b+D1"])
def test_observations_in_both_forms_are_of_two_writers(tmp_path: pathlib.Path, text: str) -> None:
    directory = building.build(tmp_path / "run", text)
    lines = directory.observations.read_bytes().splitlines(keepends=True)
    other = directory.new_observations("zstd")
    other.write_bytes(specimens.pack(other.name, lines))
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "observations.jsonl is there beside observations.jsonl.zst" in judgement.reason
    assert {"observations.jsonl", "observations.jsonl.zst"} <= judgement.evidence.keys()


def test_a_line_without_an_end_is_not_read_whole(tmp_path: pathlib.Path) -> None:
    """64 GiB, of which the file system stores nothing: the first LINE_MAX bytes are enough to see
    that it is no record.
    """
    directory = _build(tmp_path)
    os.truncate(directory.observations, 64 * 2**30)
    reader = histories.load(directory.path).observations()
    assert reader is not None
    before = resource.getrusage(resource.RUSAGE_SELF)
    list(reader)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert "expected a line of at most" in reader.damage
    assert (after.ru_maxrss - before.ru_maxrss) * 1024 < 3 * journal_reader.LINE_MAX


def test_a_file_without_an_end_is_not_hashed(tmp_path: pathlib.Path) -> None:
    directory = _build(tmp_path)
    os.truncate(directory.observations, 64 * 2**30)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    told = judgement.evidence["observations.jsonl"]
    assert told.startswith("not hashed: observations.jsonl, line ")
    assert "expected a line of at most" in told


@pytest.mark.parametrize("clock", [lambda ns: -ns, lambda ns: 10**13 - ns, lambda ns: 0])
@pytest.mark.parametrize("chosen", [*specimens.recorded()], ids=lambda item: item.name)
def test_a_recorded_run_has_its_verdict_whatever_the_clock_says(
    tmp_path: pathlib.Path, chosen: specimens.Specimen, clock: Callable[[int], int]
) -> None:
    def other(found: re.Match[bytes]) -> bytes:
        return found[1] + str(clock(int(found[2]))).encode()

    directory = specimens.write(chosen, tmp_path / "run", {})
    assert judging.judge(directory).verdict is chosen.verdict
    changed = {
        name: re.sub(rb'("(?:\w+_)?ns":)(-?\d+)', other, content)
        for name, content in chosen.files.items()
        if name.endswith(".jsonl")
    }
    examination = judging.examine(specimens.write(chosen, tmp_path / "run", changed))
    publishing.publish(examination)
    if chosen.verdict is verdicts.Verdict.INVALID:
        assert examination.judgement.verdict is verdicts.Verdict.INVALID


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"schema": 99, "of": "the future"}', "expected schema 1, got 99"),
        (b"{}", "missing required field `schema`"),
        (b'{"schema": 1, "run_id": "x"}', "missing required field `scenario`"),
        (b"\xff", "expected the plan of a run"),
        (NESTED, "expected the plan of a run"),
        (b'{"schema": 1, "settings": ' + NESTED + b"}", "expected the plan of a run"),
    ],
)
def test_a_plan_that_is_none_makes_no_run_directory(
    tmp_path: pathlib.Path, content: bytes, message: str
) -> None:
    directory = _build(tmp_path)
    directory.plan.write_bytes(content)
    with pytest.raises(errors.RunDirectoryError, match=r"plan\.json") as caught:
        judging.judge(directory)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


VALUES = [b"null", b"-1", b"9" * 20, b'""', b"{}", b"[]", b"1e400", b"\xff", b"true", b"\n", b"4611686018427387904"]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_was_done_to_a_file_there_is_a_verdict_or_no_run_directory(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = _build(tmp_path_factory.mktemp("damaged"))
    path = data.draw(st.sampled_from([directory.plan, *directory.journals()]))
    content = path.read_bytes()
    begin = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(begin, min(begin + 40, len(content))))
    values = [match.span() for match in re.finditer(rb'(?<=:)"?[^",:{}\[\]]+"?', content)]
    if data.draw(st.booleans()):
        begin, end = data.draw(st.sampled_from(values))
    new = data.draw(st.one_of(st.sampled_from(VALUES), st.binary(max_size=20)))
    path.write_bytes(content[:begin] + new + content[end:])
    try:
        publishing.publish(judging.examine(directory))
    except errors.RunDirectoryError:
        assert path == directory.plan
    else:
        assert directory.report.is_file()
