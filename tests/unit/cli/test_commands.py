"""Commands with their exit codes and what they print: a line each, all in one folder."""

import gzip
import io
import json
import os
import pathlib
import random
import shlex
import shutil
from typing import Any

import pytest

from harness.campaign import campaign_plan
from harness.compression import zstd
from harness.history import campaign_folders, results
from harness.log_analysis import log_files, text_blocks
from tests.histories import archives, building
from tests.support import cases, log_lines, schemas, shards
from tests.support.log_lines import Story

ONE = Story().observe("a").text()
TWO = Story().reserve("a").observe("a").reserve("b").observe("b").free("a").text()
PLAN = shards.campaign(subjects=2, controls=1)


def _many() -> str:
    """A device that six claims hold at once."""
    story = Story()
    for name in "abcdef":
        story.attempt(name).reserve(name).observe(name)
    for name in "abcde":
        story.free(name)
    return story.text()


def _logs(folder: pathlib.Path) -> None:
    lines = [line.partition("] ")[2] for line in TWO.splitlines()]
    headless = json.dumps([{"jsonPayload": {"message": line}} for line in lines])
    logs = {"one": ONE, "two": TWO, "empty": "", "other": "other\n", "many": _many()}
    for name, text in logs.items():
        (folder / f"{name}.log").write_text(text)
    (folder / "headless.json").write_text(headless)
    (folder / "packed.log.zst").write_bytes(b"")
    damaged = gzip.compress(TWO.encode() + random.Random(1).randbytes(10_000))
    (folder / "damaged.log.gz").write_bytes(damaged[:-500])
    os.mkfifo(folder / "fifo")
    of_kind = "cluster/kind-logs/c-control-plane/pods/kube-system_kube-scheduler-c_1/kube-scheduler"
    of_runs = {"other": ONE.replace("default/a", "default/b"), "empty": "", "one": ONE, "two": TWO}
    for name, text in of_runs.items():
        _write(folder / f"runs/{name}/logs/scheduler.log", text)
    _write(folder / f"runs/kind/logs/{of_kind}/0.log", TWO)
    for run in (folder / "runs").iterdir():
        (run / "plan.json").write_text("{}")


def _write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


def _compared(folder: pathlib.Path) -> None:
    for name, verdict, defects in (
        ("a", "VALID", []),
        ("b", "VALID", []),
        ("bad", "INVALID", ["gather-not-atomic"]),
    ):
        made = archives.run(folder / name, name, verdict, scenario="churn")
        archives.repeated(made, 12, plan={"defects": defects})
        shutil.rmtree(made.path)


def _campaign(reports: pathlib.Path, *worse: results.RunResult) -> None:
    """A campaign whose runs are as expected, but for some."""
    folder = reports / "campaigns" / "20260101T000000Z-7"
    folder.mkdir(parents=True)
    changed = {result.number: result for result in worse}
    made = [changed.get(run.number, shards.result(run)) for run in PLAN.runs]
    campaign_plan.write(folder / campaign_folders.PLAN, PLAN)
    (folder / campaign_folders.RESULTS).write_bytes(results.encode(made))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("folder")
    for verdict in archives.TEXTS:
        archives.run(made / "r", verdict, verdict).path.rename(made / verdict)
    (made / "nothing").mkdir()
    _logs(made)
    _compared(made)
    _campaign(made / "reports", shards.violated(PLAN.runs[1]))
    _campaign(made / "fine")
    return made


@pytest.mark.parametrize("case", cases.read(__file__, "commands"), ids=lambda case: case["run"])
def test_a_command(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, flake_hunt: Any, case: dict[str, Any]
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = flake_hunt(*shlex.split(case["run"]))
    assert code == case["code"], out + err
    for text, parts in ((out, case.get("out", ())), (err, case.get("err", ()))):
        said = f"^{' '.join(text.split())}$"
        for part in parts:
            assert part in said, text
    assert bool(err) == ("err" in case) or "json" in case, err
    assert [part for part in case.get("without", ()) if part in out.replace("schedules", "")] == []
    if "json" in case:
        document = json.loads(out)
        assert {key: document[key] for key in case["json"]} == case["json"]
    if "schema" in case:
        schemas.obeying(case["schema"], out)


def test_a_log_is_read_from_standard_input_and_from_the_pipe_of_a_shell(
    flake_hunt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.TextIOWrapper(io.BytesIO(gzip.compress(TWO.encode())))
    monkeypatch.setattr("sys.stdin", packed)
    code, out, _ = flake_hunt("explain", "-")
    assert (code, "standard input" in out) == (10, True)
    reading, writing = os.pipe()
    os.write(writing, TWO.encode())
    os.close(writing)
    assert flake_hunt("explain", f"/dev/fd/{reading}")[0] == 10
    os.close(reading)


def test_lines_of_other_programs_are_left_out_and_cut_lines_are_counted(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    log, lines = tmp_path / "s.log", log_lines.KTESTING.read_text().splitlines(keepends=True)
    others = ['{"msg": "Observed device allocation"', 'etcd "Observed device allocation"\n', "["]
    whole = ONE + others[1] + "".join(lines[1:30])
    log.write_text(whole)
    said = "VALID: no double allocation among 2 allocations of devices\n"
    assert flake_hunt("explain", log)[1].startswith(said)
    log.write_text("".join(others) + ONE[:-20] + "\n" + whole)
    code, out, _ = flake_hunt("explain", log)
    assert code == 20
    for part in (
        "the logs show 2 allocations of devices",
        "1 line has a message of a scheduler, but no header that can be read",
        "1 line about a device in use could not be read",
    ):
        assert part in " ".join(out.split())


def test_control_characters_of_a_log_do_not_reach_the_terminal(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    log = tmp_path / "s.log"
    log.write_bytes(TWO.replace("default/a", "default/\x1b]0;owned\x07\u202e").encode() + b"\xff\n")
    code, out, _ = flake_hunt("explain", log)
    assert code == 10
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert "\\x1b]0;owned" in out


@pytest.mark.parametrize("seed", range(5))
def test_bytes_of_any_kind_are_unknown(flake_hunt: Any, tmp_path: pathlib.Path, seed: int) -> None:
    stream = random.Random(seed)
    magic = stream.choice([b"", b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\xff\xfe"])
    (tmp_path / "s.log").write_bytes(magic + stream.randbytes(5_000))
    code, out, err = flake_hunt("explain", tmp_path / "s.log")
    assert (code, err) == (20, "")
    assert out.startswith("UNKNOWN: inconclusive")


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_log_that_grows_beyond_measure_is_not_read_further(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, pack: Any
) -> None:
    monkeypatch.setattr(log_files, "UNPACKED_MAX", 2**22)
    (tmp_path / "s.log").write_bytes(pack(ONE.encode() + b"x\n" * 2**23))
    code, out, _ = flake_hunt("explain", tmp_path / "s.log")
    assert code == 20
    assert "200 times its size, and is not read further" in " ".join(out.split())


def test_a_line_without_an_end_is_refused(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "LINE_MAX", 2**22)
    (tmp_path / "s.log").write_bytes(ONE.encode() + b"x" * (3 * 2**22))
    code, out, _ = flake_hunt("explain", tmp_path / "s.log")
    assert code == 20
    assert "s.log: it has a line of more than" in " ".join(out.split())


def test_hostile_names_are_shown_and_not_obeyed(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    evil = "\x1b]0;owned\x07[/red]:bug:\n"
    names = {"a": f"a{evil}", "b": f"b{evil}", "D1": f"D1{evil}"}
    path = tmp_path / f"run{evil.strip()}"
    building.build(path, "a+D1 b+D1", names=names, scenario=f"scenario{evil}")
    changes = {"versions": {"scheduler": evil}, "subject": evil}
    two = [archives.run(tmp_path, name, changes=changes).path for name in "ab"]
    for arguments in (
        ["check", path, "-v"],
        ["check", path, path],
        ["check", path, "-q"],
        ["compare", *two],
    ):
        _, out, err = flake_hunt(*arguments)
        assert not [one for one in out + err if ord(one) < 32 and one != "\n"]
        assert "\\x1b]0;owned\\x07[/red]:bug:" in out


def test_a_dry_run_writes_nothing_and_another_one_with_its_seed_is_the_same(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (
        flake_hunt("hunt", "answer-lost", "--dry-run", "--seed", 7, "--output", "json")
        for _ in range(2)
    )
    assert first == second
    found = [(run["purpose"], run["hypothesis"]) for run in json.loads(first[1])["runs"]]
    assert found == [("remedy", "H1")] * 2 + [("hazard", "H1")] * 2
    assert [*tmp_path.iterdir()] == []
