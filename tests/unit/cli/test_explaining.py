"""`flake-hunt explain`: exit codes, forms of output, and bad input."""

import gzip
import io
import json
import os
import pathlib
import random
import re
import socket
from typing import Any

import pytest

from harness.compression import zstd
from harness.log_analysis import log_files, text_blocks
from tests.support import log_lines, schemas
from tests.support.log_lines import Story

ONE = Story().observe("a").text()
TWO = Story().reserve("a").observe("a").reserve("b").observe("b").free("a").text()


@pytest.fixture
def log(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "scheduler.log"


@pytest.mark.parametrize(
    ("content", "code", "word"),
    [(ONE, 0, "VALID"), (TWO, 10, "INVALID"), ("", 20, "UNKNOWN"), ("other\n", 20, "UNKNOWN")],
)
def test_exit_codes_are_those_of_check(
    flake_hunt: Any, log: pathlib.Path, content: str, code: int, word: str
) -> None:
    log.write_text(content)
    assert flake_hunt("explain", str(log))[:2][0] == code
    ended, out, err = flake_hunt("explain", str(log))
    assert (ended, out.partition(":")[0], err) == (code, word, "")


@pytest.mark.parametrize("option", [["--output", "json"]])
def test_json_is_one_document(flake_hunt: Any, log: pathlib.Path, option: list[str]) -> None:
    log.write_text(TWO)
    code, out, _ = flake_hunt("explain", str(log), *option)
    document = json.loads(out)
    schemas.obeying("explanation", document)
    assert (code, document["exit_code"], document["verdict"]) == (10, 10, "INVALID")


def test_standard_input(flake_hunt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TWO.encode()))))
    code, out, _ = flake_hunt("explain", "-")
    assert code == 10
    assert "standard input" in out


@pytest.mark.parametrize("kind", ["missing", "folder", "nul"])
def test_what_is_no_file_is_a_usage_error(
    flake_hunt: Any, log: pathlib.Path, tmp_path: pathlib.Path, kind: str
) -> None:
    log.write_text(TWO)
    name = {"missing": str(tmp_path / "no.log"), "folder": str(tmp_path), "nul": "a\0b"}[kind]
    others = [] if kind == "folder" else [str(log)]
    code, out, err = flake_hunt("explain", *others, name)
    assert (code, out) == (2, "")
    assert err.startswith("flake-hunt: expected a log file")
    assert err.count("\n") == 1


def test_a_log_that_was_compressed_since_is_suggested(flake_hunt: Any, log: pathlib.Path) -> None:
    log.with_name("scheduler.log.zst").write_bytes(b"")
    code, _, err = flake_hunt("explain", str(log))
    assert (code, "Did you mean 'scheduler.log.zst'?" in err) == (2, True)


def test_of_several_double_allocations_the_first_is_shown_and_all_are_in_a_table(
    flake_hunt: Any, log: pathlib.Path
) -> None:
    story = Story()
    for name in "abcdef":
        story.attempt(name).reserve(name).observe(name)
    for name in "abcde":
        story.free(name)
    log.write_text(story.text())
    code, out, _ = flake_hunt("explain", str(log))
    assert (code, len(re.findall(r"^ +\d+  gpu.*default/", out, re.M))) == (10, 15)
    assert out.count("Double allocation ") == 1
    assert flake_hunt("explain", str(log), "--all")[1].count("Double allocation ") == 15


def test_lines_without_their_headers_are_the_reason(flake_hunt: Any, log: pathlib.Path) -> None:
    """As clouds that take the lines apart give them: the scheduler did log at -v=6."""
    lines = [line.partition("] ")[2] for line in TWO.splitlines()]
    log.write_text(json.dumps([{"jsonPayload": {"message": line}} for line in lines]))
    code, out, _ = flake_hunt("explain", str(log))
    said = " ".join(out.split())
    assert (code, "have a message of a scheduler, but no header that can be read" in said) == (
        20,
        True,
    )
    assert "-v=6" not in said


@pytest.mark.parametrize("kind", ["fifo", "device", "socket"])
def test_what_could_be_read_for_ever_is_refused(
    flake_hunt: Any, tmp_path: pathlib.Path, kind: str
) -> None:
    path = tmp_path / "x"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(str(path))
    else:
        path = pathlib.Path("/dev/zero")
    code, out, err = flake_hunt("explain", str(path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"flake-hunt: expected a log file, got {path}, which is a device")


def test_the_pipe_of_a_shell_is_read(flake_hunt: Any) -> None:
    reading, writing = os.pipe()
    os.write(writing, TWO.encode())
    os.close(writing)
    try:
        assert flake_hunt("explain", f"/dev/fd/{reading}")[0] == 10
    finally:
        os.close(reading)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_log_that_grows_beyond_measure_is_not_read_further(
    flake_hunt: Any, log: pathlib.Path, monkeypatch: pytest.MonkeyPatch, pack: Any
) -> None:
    monkeypatch.setattr(log_files, "UNPACKED_MAX", 2**22)
    log.write_bytes(pack(ONE.encode() + b"x\n" * 2**23))
    code, out, _ = flake_hunt("explain", str(log))
    assert code == 20
    assert "200 times its size, and is not read further" in " ".join(out.split())


@pytest.mark.parametrize("seed", range(5))
def test_bytes_of_any_kind_are_unknown(flake_hunt: Any, log: pathlib.Path, seed: int) -> None:
    stream = random.Random(seed)
    magic = stream.choice([b"", b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\xff\xfe"])
    log.write_bytes(magic + stream.randbytes(5_000))
    code, out, err = flake_hunt("explain", str(log))
    assert (code, err) == (20, "")
    assert out.startswith("UNKNOWN: inconclusive")


def test_a_line_without_an_end_is_refused(
    flake_hunt: Any, log: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "LINE_MAX", 2**22)
    log.write_bytes(ONE.encode() + b"x" * (3 * 2**22))
    code, out, _ = flake_hunt("explain", str(log))
    assert code == 20
    assert f"{log.name}: it has a line of more than" in " ".join(out.split())


def test_a_double_allocation_counts_although_the_rest_is_damaged(
    flake_hunt: Any, log: pathlib.Path
) -> None:
    packed = gzip.compress(TWO.encode() + random.Random(1).randbytes(10_000))
    log.write_bytes(packed[:-500])
    assert flake_hunt("explain", str(log))[0] == 10


def test_control_characters_of_a_log_do_not_reach_the_terminal(
    flake_hunt: Any, log: pathlib.Path
) -> None:
    log.write_bytes(TWO.replace("default/a", "default/\x1b]0;owned\x07\u202e").encode() + b"\xff\n")
    code, out, _ = flake_hunt("explain", str(log))
    assert code == 10
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert "\\x1b]0;owned" in out


def test_lines_of_other_programs_are_left_out_and_cut_lines_are_counted(
    flake_hunt: Any, log: pathlib.Path
) -> None:
    lines = log_lines.KTESTING.read_text().splitlines(keepends=True)
    others = [
        '{"msg": "Observed device allocation"',
        'etcd says "Observed device allocation"\n',
        "[",
    ]
    whole = ONE + others[1] + "".join(lines[1:30])
    log.write_text(whole)
    code, out, _ = flake_hunt("explain", str(log))
    assert (code, out.splitlines(keepends=True)[0]) == (
        0,
        "VALID: no double allocation among 2 allocations of devices\n",
    )
    log.write_text("".join(others) + ONE[:-20] + "\n" + whole)
    code, out, _ = flake_hunt("explain", str(log))
    assert code == 20
    assert "the logs show 2 allocations of devices" in out
    said = " ".join(out.split())
    assert "1 line has a message of a scheduler, but no header that can be read" in said
    assert "1 line about a device in use could not be read" in said


def run_directory(folder: pathlib.Path, log: str | None) -> pathlib.Path:
    """A run directory, as far as `explain` looks at one."""
    (folder / "logs").mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    if log is not None:
        (folder / "logs" / "scheduler.log").write_text(log)
    return folder


def test_a_run_directory_stands_for_the_logs_of_its_schedulers(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    run = run_directory(tmp_path / "run", TWO)
    code, out, err = flake_hunt("explain", str(run), "--output", "json")
    document = json.loads(out)
    schemas.obeying("explanation", document)
    assert (code, err, [log["name"] for log in document["logs"]]) == (
        10,
        "",
        ["logs/scheduler.log"],
    )


def test_the_log_of_the_scheduler_of_a_kind_cluster_is_found(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    run = run_directory(tmp_path / "run", None)
    exported = run / "logs" / "cluster" / "kind-logs" / "c-control-plane"
    for folder in ("pods/kube-system_kube-scheduler-c_1/kube-scheduler", "containers"):
        (exported / folder).mkdir(parents=True)
        (exported / folder / "0.log").write_text(TWO)
    code, out, _ = flake_hunt("explain", str(run), "--output", "json")
    (log,) = json.loads(out)["logs"]
    assert (code, log["name"].endswith("/kube-scheduler/0.log")) == (10, True)


def test_several_runs_are_explained_one_by_one(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    """They have devices of the same names, and that is no double allocation."""
    for name, log in (("a", ONE), ("b", ONE.replace("default/a", "default/b")), ("c", TWO)):
        run_directory(tmp_path / name, log)
    runs = [str(tmp_path / name) for name in "abc"]
    assert flake_hunt("explain", *runs[:2])[0] == 0
    code, out, _ = flake_hunt("explain", *runs)
    lines = out.splitlines()
    assert (code, [line.partition(":")[0] for line in lines]) == (
        10,
        [f"VALID   {runs[0]}", f"VALID   {runs[1]}", f"INVALID {runs[2]}"],
    )
    assert lines[2].endswith("1 double allocation among 2 allocations of devices (cannot tell)")
    code, out, _ = flake_hunt("explain", str(tmp_path / "[abc]"), "--output", "json")
    document = json.loads(out)
    assert (code, document["exit_code"]) == (10, 10)
    assert [entry["directory"] for entry in document["runs"]] == runs
    for entry in document["runs"]:
        schemas.obeying("explanation", entry)


def test_runs_without_a_log_are_said(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    runs = [str(run_directory(tmp_path / "a", "")), str(run_directory(tmp_path / "b", ONE))]
    code, out, err = flake_hunt("explain", runs[0])
    assert (code, out) == (2, "")
    assert "make the run with --set subject.verbosity=6" in err
    code, out, _ = flake_hunt("explain", *runs)
    assert (code, out.splitlines()[0].startswith(f"ERROR   {runs[0]}: expected the log")) == (
        2,
        True,
    )


def test_logs_and_runs_together_are_refused(
    flake_hunt: Any, log: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    log.write_text(ONE)
    run = run_directory(tmp_path / "run", ONE)
    code, _, err = flake_hunt("explain", str(log), str(run))
    assert (code, "expected either logs or run directories" in err) == (2, True)


def test_a_quoted_pattern_of_logs_is_expanded(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "s.log.1").write_text(ONE)
    (tmp_path / "s.log").write_text(TWO)
    assert flake_hunt("explain", str(tmp_path / "s.log*"))[0] == 10
    assert flake_hunt("explain", str(tmp_path / "none*"))[0] == 2
