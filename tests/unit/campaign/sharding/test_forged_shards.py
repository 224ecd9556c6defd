"""Shards that are damaged or forged: whatever is noticed is named, and none of them is VALID."""

import contextlib
import json
import os
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.campaign.sharding import merging
from harness.history import campaign_folders, results
from tests.support import shards

PLAN = shards.plan(subjects=5, controls=3, shards=3)
Forgery = Callable[[list[pathlib.Path]], object]


@pytest.fixture
def own(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    return [pathlib.Path(path) for path in shards.every_folder(tmp_path, PLAN)]


def merged(given: list[pathlib.Path], target: pathlib.Path) -> Any:
    return merging.write(merging.read([str(path) for path in given]), target)


def lines(path: pathlib.Path) -> list[dict[str, Any]]:
    return [*map(json.loads, (path / results.FILE).read_text().splitlines())]


def written(path: pathlib.Path, found: list[dict[str, Any]]) -> None:
    (path / results.FILE).write_text("".join(f"{json.dumps(line)}\n" for line in found))


def first(own: list[pathlib.Path], purpose: str = "subject") -> tuple[pathlib.Path, Any, Any]:
    """Return the first shard with a line about a purpose, its lines, and that one."""
    found = ((path, lines(path)) for path in own)
    return next((p, many, one) for p, many in found for one in many if one["purpose"] == purpose)


def edited(purpose: str = "subject", **changes: Any) -> Forgery:
    def forge(own: list[pathlib.Path]) -> None:
        path, found, line = first(own, purpose)
        line |= changes
        written(path, found)

    return forge


def added(text: str = "", **changes: Any) -> Forgery:
    """Add a line: the text, or else the first line with changed keys."""

    def forge(own: list[pathlib.Path]) -> None:
        path, _, line = first(own)
        with (path / results.FILE).open("a") as file:
            file.write(text or json.dumps(line | changes) + "\n")

    return forge


def rewritten(name: str, content: bytes | None = None, **changes: Any) -> Forgery:
    """Give a file of the first shard, or of its first run, other bytes or keys."""

    def forge(own: list[pathlib.Path]) -> None:
        path, _, line = first(own)
        file = (path if (path / name).exists() else pathlib.Path(line["directory"])) / name
        if content is None:
            file.write_text(json.dumps(json.loads(file.read_text()) | changes))
        else:
            file.write_bytes(content)

    return forge


def without_runs(own: list[pathlib.Path]) -> None:
    shutil.rmtree(own[0].parents[1] / shards.SCENARIO)


def another_run(own: list[pathlib.Path]) -> None:
    """All lines name the directory of one run."""
    path, found, line = first(own)
    written(path, [item | {"directory": line["directory"]} for item in found])


def swapped(own: list[pathlib.Path]) -> None:
    one, other = lines(own[0]), lines(own[1])
    written(own[0], other)
    written(own[1], one)


def reversed_attempts(own: list[pathlib.Path]) -> None:
    """The subject was INVALID, and then VALID at another attempt."""
    path, found, line = first(own)
    bad = line | {"verdict": "INVALID", "double_allocations": 1}
    written(path, [item for item in found if item is not line] + [bad, line | {"attempt": 1}])


def another_attempt(own: list[pathlib.Path]) -> None:
    path, found, line = first(own, "control")
    written(path, [*found, line | {"attempt": 2}])


def fifo(own: list[pathlib.Path]) -> None:
    (own[0] / results.FILE).unlink()
    os.mkfifo(own[0] / results.FILE)


def a_copy_without_its_part(own: list[pathlib.Path]) -> None:
    copy = own[0].parent / "copy"
    shutil.copytree(own[0], copy)
    (copy / campaign_folders.PLAN).unlink()
    own.append(copy)


def an_empty_folder(own: list[pathlib.Path]) -> None:
    (own[0].parents[2] / "empty").mkdir()
    own.append(own[0].parents[2] / "empty")


VERDICT, PART = "verdict.json", campaign_folders.PLAN
BAD = {"claims": 1, "double_allocations": 0, "stuck": 0, "violations": 1}
FORGERIES: dict[str, Forgery] = {
    "a garbled line": added("{]\n"),
    "a line without its end": added('{"number": 1, "verdict": "INVALID"}'),
    "bytes that are no text": rewritten(results.FILE, b"\xff\n"),
    "another subject, INVALID": added(subject="mine", verdict="INVALID"),
    "another number": added(number=99),
    "lines of two shards exchanged": swapped,
    "no verdict": edited(verdict=None),
    "a verdict that there is not": edited(verdict="FINE"),
    "an error with a verdict": edited(error="no engine"),
    "a note that it is missing": edited(missing=True),
    "a note that it was cut": edited(cut=True),
    "an attempt that there is not": edited(attempt=1),
    "other claims than in verdict.json": edited(claims=99),
    "shows otherwise": edited(shows_otherwise=True),
    "no run directory named": edited(directory=""),
    "a run directory that is not there": edited(directory="/nothing/pod-churn/gone"),
    "a directory's name with a zero": edited(directory="/a\0b/c"),
    "a control without evidence": edited("control", directory=""),
    "a control caught by another count": edited("control", double_allocations=0, consumed_twice=1),
    "no run directories at all": without_runs,
    "one run directory for two runs": another_run,
    "verdict.json is INVALID": rewritten(VERDICT, verdict="INVALID", figures=BAD),
    "verdict.json is UNKNOWN": rewritten(VERDICT, verdict="UNKNOWN"),
    "verdict.json is VALID with violations": rewritten(VERDICT, figures=BAD),
    "verdict.json of another run": rewritten(VERDICT, run_id="other"),
    "plan.json of another seed": rewritten("plan.json", seed=1),
    "plan.json with a defect": rewritten("plan.json", defects=["gather-not-atomic"]),
    "plan.json of another scenario": rewritten("plan.json", scenario="other"),
    "attempts in another order": reversed_attempts,
    "an attempt without those before": another_attempt,
    "a FIFO for results": fifo,
    "no results": lambda own: (own[0] / results.FILE).unlink(),
    "a shard beyond the last": rewritten(PART, shard=4),
    "another number of shards": rewritten(PART, shards=9),
    "a shard of another version": rewritten(PART, versions={"flake-hunt": "9.9"}),
    "a shard of another plan": rewritten(PART, plan_digest="sha256:0"),
    "text for a shard": rewritten(PART, shard="1"),
    "a list for its part": rewritten(PART, b"[]"),
    "no text for its part": rewritten(PART, b"\xff"),
    "a copy without its part": a_copy_without_its_part,
    "an empty folder": an_empty_folder,
}


def test_shards_as_they_were_made_are_valid(
    own: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    campaign, _ = merged(own, tmp_path / "merged")
    assert (campaign.verdict, campaign.exit_code, campaign.problems) == ("VALID", 0, [])
    assert len({line["subject"] for path in own for line in lines(path)}) == 2


@pytest.mark.parametrize("name", FORGERIES)
def test_no_forged_shard_is_valid(
    own: list[pathlib.Path], tmp_path: pathlib.Path, name: str
) -> None:
    FORGERIES[name](own)
    with contextlib.suppress(errors.HarnessError):  # refused in one sentence
        campaign, merge = merged(own, tmp_path / "merged")
        assert (campaign.verdict, campaign.exit_code) in {("UNKNOWN", 20), ("INVALID", 10)}
        assert [*campaign.problems, *merge.missing], "what was noticed is named"
        junit = pathlib.Path(campaign.directory, "junit.xml").read_text()
        assert "<error" in junit or "<failure" in junit


def test_the_worse_of_a_line_and_its_verdict_counts(
    own: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    FORGERIES["verdict.json is INVALID"](own)
    campaign, _ = merged(own, tmp_path / "a")
    assert campaign.exit_code == 10
    assert "verdict.json says INVALID" in campaign.problems[0]
    FORGERIES["a garbled line"](own)
    assert merged(own, tmp_path / "b")[0].exit_code == 10, "a problem hides no violation"


def test_a_damaged_line_is_not_forgotten_by_another_start(tmp_path: pathlib.Path) -> None:
    """The line may have said INVALID; only one that was not written whole is made again."""
    path = shards.folder(tmp_path, PLAN, 1)
    file = path / results.FILE
    before = file.read_bytes()
    file.write_bytes(before + b'{"number": 1, "verdict": "INVALID",\n')
    with pytest.raises(errors.UsageError, match=r"expected results of this shard.*jsonl:\d"):
        shards.folder(tmp_path, PLAN, 1)
    file.write_bytes(before + b'{"number": 1')
    assert shards.folder(tmp_path, PLAN, 1) == path


def test_only_controls_that_are_all_caught_are_valid(tmp_path: pathlib.Path) -> None:
    """Another run caught the same control; the problem of this one counts all the same."""
    path = shards.folder(tmp_path / "r", shards.plan(subjects=2, controls=2, shards=1), 1)
    edited("control", directory="")([path])
    assert merged([path], tmp_path / "merged")[0].exit_code == 20
