"""A campaign over machines with real runs: one shard is killed, named, and made again."""

import pathlib
import signal

import pytest

from harness import clocks
from harness.campaign import campaign_documents
from harness.campaign.sharding import merging
from tests.e2e import running
from tests.support import schemas

pytestmark = pytest.mark.e2e


def test_a_shard_that_was_killed_is_unknown_by_name_and_healed(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    words = ("--repeat", "2", "--repeat-controls", "0", "--seed", "7")
    code, output = running.run(
        tmp_path, "shards", "plan", "-o", "plan.json", "hunt", scenario, *words
    )
    assert code == 0, output
    shard = ("hunt", "--plan", "plan.json", "--shard", "1/1", "--jobs", "1")
    folder = {"TMPDIR": str(tmp_path)}  # what is left there is not for other tests to prune
    with running.started(tmp_path, *shard, env=folder) as command:
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
    campaign, document = merge(tmp_path)
    assert campaign.exit_code == 20
    assert [item.run for item in document.missing] == ["small[correct-1]"]
    reason = document.missing[0].reason
    assert reason.startswith("shard 1 of 1 has no result of this run: it was interrupted")
    code, output = running.run(tmp_path, *shard)
    assert code == 0, output
    assert "shard 1 of 1 (--shard): 2 runs, 1 of them made before" in output
    assert results(tmp_path) == [before]
    assert before.read_bytes().startswith(kept)
    assert merge(tmp_path)[0].exit_code == 0
    for name, file in {"campaign": "results.json", "merge": "merge.json"}.items():
        schemas.obeying(name, (tmp_path / "merged" / file).read_bytes())


def merge(
    folder: pathlib.Path,
) -> tuple[campaign_documents.CampaignDocument, merging.MergeDocument]:
    given = merging.read([str(folder / "reports")])
    return merging.write(given, folder / "merged")


def results(folder: pathlib.Path) -> list[pathlib.Path]:
    return list(folder.glob("reports/campaigns/*-shard-1-of-1/results.jsonl"))
