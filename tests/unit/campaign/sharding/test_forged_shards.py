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
from harness.campaign.sharding import merging, shard_folders
from harness.history import campaign_folders
from harness.history.purposes import Purpose
from tests.support import shards

PLAN = shards.plan(subjects=5, controls=3, shards=3)
Forgery = Callable[[list[pathlib.Path]], object]


@pytest.fixture
def own(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    return [pathlib.Path(path) for path in shards.every_folder(tmp_path, PLAN)]


def merged(given: list[pathlib.Path], target: pathlib.Path) -> merging.MergedCampaign:
    return merging.write(merging.read([str(path) for path in given]), target)


def lines(path: pathlib.Path) -> list[dict[str, Any]]:
    return [*map(json.loads, (path / campaign_folders.RESULTS).read_text().splitlines())]


def written(path: pathlib.Path, found: list[dict[str, Any]]) -> None:
    text = "".join(f"{json.dumps(line)}\n" for line in found)
    (path / campaign_folders.RESULTS).write_text(text)


def subject(path: pathlib.Path) -> int:
    """The place of the first line that is about the tested subject."""
    return next(n for n, line in enumerate(lines(path)) if line["purpose"] == "subject")


def control(path: pathlib.Path) -> int:
    return next(n for n, line in enumerate(lines(path)) if line["purpose"] == "control")


def edited(where: Callable[[pathlib.Path], int] = subject, **changes: Any) -> Forgery:
    def forge(own: list[pathlib.Path]) -> None:
        path = next(path for path in own if any(map(_is_of(where), lines(path))))
        found = lines(path)
        found[where(path)] |= changes
        written(path, found)

    return forge


def _is_of(where: Callable[[pathlib.Path], int]) -> Callable[[dict[str, Any]], bool]:
    return lambda line: line["purpose"] == where.__name__


def added(text: str, **changes: Any) -> Forgery:
    """Add a line: the text, or else the first line with changed keys."""

    def forge(own: list[pathlib.Path]) -> None:
        with (own[0] / campaign_folders.RESULTS).open("a") as file:
            file.write(text or json.dumps(lines(own[0])[subject(own[0])] | changes) + "\n")

    return forge


def rewritten(find: Callable[[list[pathlib.Path]], pathlib.Path], **changes: Any) -> Forgery:
    def forge(own: list[pathlib.Path]) -> None:
        path = find(own)
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return forge


def of_run(own: list[pathlib.Path], name: str) -> pathlib.Path:
    return pathlib.Path(lines(own[0])[subject(own[0])]["directory"], name)


def of_verdict(**changes: Any) -> Forgery:
    return rewritten(lambda own: of_run(own, "verdict.json"), **changes)


def of_plan(**changes: Any) -> Forgery:
    return rewritten(lambda own: of_run(own, "plan.json"), **changes)


def of_record(**changes: Any) -> Forgery:
    return rewritten(lambda own: own[0] / shard_folders.RECORD, **changes)


def of_bytes(content: bytes) -> Forgery:
    return lambda own: (own[0] / shard_folders.RECORD).write_bytes(content)


def figures(**counts: int) -> dict[str, int]:
    return {"claims": 1, "double_allocations": 0, "stuck": 0, "violations": 0} | counts


def without_runs(own: list[pathlib.Path]) -> None:
    shutil.rmtree(own[0].parents[1] / shards.SCENARIO)


def without_verdicts(own: list[pathlib.Path]) -> None:
    for path in own[0].parents[1].glob("*/*/verdict.json"):
        path.unlink()


def another_run(own: list[pathlib.Path]) -> None:
    """Both lines name the directory of one run."""
    first, *others = lines(own[0])
    written(own[0], [first, *(line | {"directory": first["directory"]} for line in others)])


def swapped(own: list[pathlib.Path]) -> None:
    first, second = lines(own[0]), lines(own[1])
    written(own[0], second)
    written(own[1], first)


def moved(own: list[pathlib.Path]) -> None:
    """A line is in another shard's folder too, where it says INVALID."""
    line = lines(own[0])[subject(own[0])] | {"verdict": "INVALID", "double_allocations": 1}
    written(own[1], [*lines(own[1]), line])


def reversed_attempts(own: list[pathlib.Path]) -> None:
    """The subject was INVALID, and then VALID at another attempt."""
    found = lines(own[0])
    line = found.pop(subject(own[0]))
    bad = line | {"verdict": "INVALID", "double_allocations": 1}
    written(own[0], [*found, bad, line | {"attempt": 1}])


def another_attempt(own: list[pathlib.Path]) -> None:
    path = own[-1] if any(line["purpose"] == "control" for line in lines(own[-1])) else own[0]
    written(path, [*lines(path), lines(path)[control(path)] | {"attempt": 2}])


def fifo(own: list[pathlib.Path]) -> None:
    path = own[0] / campaign_folders.RESULTS
    path.unlink()
    os.mkfifo(path)


def a_copy_without_record(own: list[pathlib.Path]) -> None:
    """A second copy of a shard lost its shard.json, and says INVALID."""
    copy = own[0].parent / "copy"
    shutil.copytree(own[0], copy)
    (copy / shard_folders.RECORD).unlink()
    own.append(copy)


def an_empty_folder(own: list[pathlib.Path]) -> None:
    (own[0].parents[2] / "empty").mkdir()
    own.append(own[0].parents[2] / "empty")


FORGERIES: dict[str, Forgery] = {
    "a garbled line": added("{]\n"),
    "a line without its end": added('{"number": 1, "verdict": "INVALID"}'),
    "bytes that are no text": lambda own: (own[0] / campaign_folders.RESULTS).write_bytes(b"\xff\n"),
    "another subject, INVALID": added("", subject="mine", verdict="INVALID"),
    "another scenario": added("", scenario="mine"),
    "another number": added("", number=99),
    "a line in another shard's folder": moved,
    "lines of two shards exchanged": swapped,
    "no verdict": edited(verdict=None),
    "a verdict that there is not": edited(verdict="FINE"),
    "VALID with double allocations": edited(double_allocations=7),
    "an error with a verdict": edited(error="no engine"),
    "a note that it is missing": edited(missing=True),
    "a note that it was cut": edited(cut=True),
    "an attempt that there is not": edited(attempt=1),
    "other claims than in verdict.json": edited(claims=99),
    "shows otherwise": edited(shows_otherwise=True),
    "no run directory named": edited(directory=""),
    "a run directory that is not there": edited(directory="/nothing/pod-churn/gone"),
    "a directory's name with a zero": edited(directory="/a\0b/c"),
    "a control without evidence": edited(control, directory=""),
    "a control that shows otherwise": edited(control, shows_otherwise=True, others=1),
    "a control caught by another count": edited(control, double_allocations=0, consumed_twice=1),
    "no run directories at all": without_runs,
    "run directories without a verdict": without_verdicts,
    "one run directory for two runs": another_run,
    "verdict.json is INVALID": of_verdict(verdict="INVALID", figures=figures(violations=1)),
    "verdict.json is UNKNOWN": of_verdict(verdict="UNKNOWN"),
    "verdict.json is VALID with violations": of_verdict(figures=figures(violations=1)),
    "verdict.json of another run": of_verdict(run_id="other"),
    "verdict.json of another plan": of_verdict(evidence={"plan.json": "sha256:0"}),
    "verdict.json of another schema": of_verdict(schema=99),
    "verdict.json without figures": of_verdict(figures=None),
    "plan.json of another seed": of_plan(seed=1),
    "plan.json with a defect": of_plan(defects=["gather-not-atomic"]),
    "plan.json of another scenario": of_plan(scenario="other"),
    "plan.json with other bytes": of_plan(run_id="run-1-0-VALID "),
    "attempts in another order": reversed_attempts,
    "an attempt without those before": another_attempt,
    "a FIFO for results": fifo,
    "shard 0": of_record(shard=0),
    "a shard beyond the last": of_record(shard=4),
    "a number of shards that is not the plan's": of_record(shards=9),
    "a shard of another version": of_record(versions={"flake-hunt": "9.9"}),
    "a shard whose time is a path": of_record(started="../../x"),
    "a shard of another plan": of_record(plan="sha256:0"),
    "text for a shard": of_record(shard="1"),
    "a copy without its record": a_copy_without_record,
    "an empty folder": an_empty_folder,
    "no results": lambda own: (own[0] / campaign_folders.RESULTS).unlink(),
    **{
        f"{content!r} for a record": of_bytes(content)
        for content in (b"", b"{", b'{"schema": 1}', b"[]", b"\xff")
    },
}  # fmt: skip


def test_shards_as_they_were_made_are_valid(
    own: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    made = merged(own, tmp_path / "merged")
    assert (made.campaign.verdict, made.campaign.exit_code) == ("VALID", 0)
    assert made.campaign.problems == []
    assert len({line["subject"] for path in own for line in lines(path)}) == 2


@pytest.mark.parametrize("name", FORGERIES)
def test_no_forged_shard_is_valid(
    own: list[pathlib.Path], tmp_path: pathlib.Path, name: str
) -> None:
    FORGERIES[name](own)
    with contextlib.suppress(errors.HarnessError):  # refused in one sentence
        made = merged(own, tmp_path / "merged")
        require_not_valid(made)


def require_not_valid(made: merging.MergedCampaign) -> None:
    assert made.campaign.verdict in ("UNKNOWN", "INVALID")
    assert made.campaign.exit_code in (10, 20)
    told = [*made.campaign.problems, *(item.reason for item in made.merge.missing)]
    assert told or made.campaign.rows == [], "what was noticed is named"
    junit = pathlib.Path(made.campaign.directory, "junit.xml").read_text()
    assert "<error" in junit or "<failure" in junit or made.campaign.rows == []


def test_the_worse_of_a_line_and_its_verdict_counts(
    own: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    FORGERIES["verdict.json is INVALID"](own)
    made = merged(own, tmp_path / "a")
    assert made.campaign.exit_code == 10
    assert "verdict.json says INVALID" in made.campaign.problems[0]
    FORGERIES["a garbled line"](own)
    assert merged(own, tmp_path / "b").campaign.exit_code == 10, "a problem hides no violation"


def test_a_damaged_line_is_not_forgotten_by_another_start(tmp_path: pathlib.Path) -> None:
    """The line may have said INVALID; only one that was not written whole is made again."""
    path = shards.folder(tmp_path, PLAN, 1)
    before = (path / campaign_folders.RESULTS).read_bytes()
    results = path / campaign_folders.RESULTS
    results.write_bytes(before + b'{"number": 1, "verdict": "INVALID",\n')
    with pytest.raises(errors.UsageError, match=r"expected results of this shard.*jsonl:\d"):
        shards.folder(tmp_path, PLAN, 1)
    results.write_bytes(before + b'{"number": 1')
    assert shards.folder(tmp_path, PLAN, 1) == path


def test_only_controls_that_are_all_caught_are_valid(tmp_path: pathlib.Path) -> None:
    """Another run caught the same control; the problem of this one counts all the same."""
    plan = shards.plan(subjects=2, controls=2, shards=1)
    path = shards.folder(tmp_path / "r", plan, 1)
    found = lines(path)
    caught = [n for n, line in enumerate(found) if line["purpose"] == Purpose.CONTROL]
    found[caught[0]]["directory"] = ""
    written(path, found)
    assert merged([path], tmp_path / "merged").campaign.exit_code == 20
