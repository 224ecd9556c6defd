"""A campaign over machines with real runs: one shard is killed, named, and made again."""

import pathlib
import signal

import pytest

from harness import clocks
from tests.e2e import running
from tests.support import schemas

pytestmark = pytest.mark.e2e


def test_a_shard_that_was_killed_is_unknown_by_name_and_healed(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    words = ("--repeat", "2", "--repeat-controls", "0", "--shards", "1", "--seed", "7")
    code, output = running.run(tmp_path, "plan", scenario, *words, "-o", "plan.json")
    assert code == 0, output
    shard = ("hunt", "--plan", "plan.json", "--shard", "1/1", "--jobs", "1")
    with running.started(tmp_path, *shard) as command:
        clocks.wait_until(
            lambda: any(path.read_bytes() for path in results(tmp_path)),
            timeout_s=running.TIMEOUT_S,
            why="the first of two runs to end",
        )
        command.process.send_signal(signal.SIGKILL)
        command.wait()
        command.require_alone()
    (before,) = results(tmp_path)
    kept = before.read_bytes()
    code, output = running.run(tmp_path, "merge", "reports", "-o", "merged")
    assert code == 20, output
    assert "UNKNOWN shard 1 of 1 has no result of this run: it was interrupted" in output
    assert "1 run (small[correct-1])" in output
    code, output = running.run(tmp_path, *shard)
    assert code == 0, output
    assert "shard 1 of 1 (--shard): 2 runs, 1 of them made before" in output
    assert results(tmp_path) == [before]
    assert before.read_bytes().startswith(kept)
    code, output = running.run(tmp_path, "merge", "reports", "-o", "merged")
    assert code == 0, output
    for name, file in {"campaign": "results.json", "merge": "merge.json"}.items():
        schemas.obeying(name, (tmp_path / "merged" / file).read_bytes())


def results(folder: pathlib.Path) -> list[pathlib.Path]:
    return list(folder.glob("reports/campaigns/*-shard-1-of-1/results.jsonl"))
