"""Exploring the scheduler: every known defect is found, and the correct code is left alone."""

import dataclasses
import functools
import itertools
import pathlib
import subprocess
import sys
import weakref
from collections.abc import Iterable
from typing import Any

import pytest

from harness import clocks
from harness.checks import judging, verdicts
from harness.client import informers
from harness.explore import output
from harness.explore.search import search_campaign, shrink_world, tokens
from harness.explore.worlds import chosen_parts, world, world_catalogue
from harness.report import publishing
from harness.subject.scheduling import schedulers
from harness.subject.tracking import assume_caches
from tests.support import world_searches

SMALLEST = "two-claims-one-device"
pytestmark = [pytest.mark.detection, pytest.mark.slow]


random_hunt = functools.partial(world_searches.hunt, strategy="random")


def explored(wanted: search_campaign.Hunt) -> search_campaign.SearchProgress:
    *_, progress = search_campaign.explore(wanted)
    return progress


def undisturbed(scenario: str) -> tokens.Token:
    return tokens.Token(scenario=scenario, defects=(), decisions=())


@functools.cache
def smallest_finding() -> tokens.Token:
    wanted = random_hunt(SMALLEST, "gather-not-atomic", schedules=5000)
    return shrink_world.smallest(wanted.token(explored(wanted).findings[0][1]))


def test_a_random_walk_finds_a_defect_and_its_token_replays() -> None:
    wanted = random_hunt("four-claims-four-devices", "gather-not-atomic", schedules=20_000, seed=6)
    finding, decisions = explored(wanted).findings[0]
    assert "is allocated to" in finding
    again = tokens.parse(str(wanted.token(decisions)))
    assert {search_campaign.replay(again).finding for _ in range(5)} == {finding}


EXPECTED_VALID = [name for name, spec in world_catalogue.WORLDS.items() if spec.hazard is None]


@pytest.mark.parametrize("scenario", [name for name in EXPECTED_VALID if "users" not in name])
@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_the_correct_subject_is_left_alone(scenario: str, strategy: str) -> None:
    progress = world_searches.explored(scenario, schedules=20, strategy=strategy)
    assert progress.findings == []
    assert progress.schedules == 20
    assert len(progress.distinct) > 1


@pytest.mark.parametrize(
    ("scenario", "step"),
    [
        ("watch-breaks", {"name": "api.watch.broken", "compacted": False}),
        ("watch-breaks", {"name": "api.watch.broken", "compacted": True}),
        ("object-touched", {"name": "pre-bind.conflict"}),
    ],
)
def test_faults_happen_and_do_no_harm(scenario: str, step: dict[str, object]) -> None:
    wanted, happened = random_hunt(scenario, schedules=20), 0
    for outcome in itertools.islice(search_campaign._samples(wanted), 20):
        assert outcome.finding is None
        again = search_campaign.replay(wanted.token(outcome.decisions), record=True)
        told = ({"name": item.name, **item.fields} for item in again.steps)
        happened += any(step.items() <= item.items() for item in told)
    assert happened > 3


def test_a_missing_answer_is_too_much_for_the_subject_as_it_is_upstream() -> None:
    """Hypothesis H1: unreserve forgets the plan although the write was done or will be, and the
    device is seen in neither place.
    """
    wanted = random_hunt("answer-lost", schedules=60, until_found=False)
    tapes = [wanted.token(decisions) for _, decisions in explored(wanted).findings]
    runs = [search_campaign.replay(token, record=True) for token in tapes]
    told = [[step.name for step in run.steps] for run in runs]
    for fate in ("api.answer.lost", "api.request.late"):
        alike = [names for names in told if fate in names]
        assert alike
        assert all(names.index(fate) < names.index("in-flight.removed") for names in alike)


def test_a_finding_is_told_in_the_smallest_world_that_has_it() -> None:
    sizes = (("claims", 3), ("devices", 2))
    larger = {"schedules": 5000, "sizes": sizes, "seed": 1}
    wanted = random_hunt("four-claims-four-devices", "gather-not-atomic", **larger)
    token = shrink_world.smallest(wanted.token(explored(wanted).findings[0][1]))
    assert dict(token.sizes) == {"claims": 2, "devices": 1}
    assert search_campaign.replay(token).finding is not None


def test_a_token_fails_alike_in_another_process_with_other_hashes() -> None:
    token, stories = smallest_finding(), set()
    for seed in ("1", "2"):
        ended = subprocess.run(
            [sys.executable, "-m", "harness.cli.main", "replay", str(token)],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 10, ended.stderr
        stories.add(ended.stdout)
    assert len(stories) == 1


def test_the_story_tells_the_stale_read() -> None:
    token = smallest_finding()
    run = search_campaign.replay(token, record=True)
    told = output.step_lines(run.steps, run.names, run.finding or "")
    inserted = told.index(next(line for line in told if "to the allocated devices" in line))
    listed = max(index for index, line in enumerate(told) if "lists the claims in flight" in line)
    cloned = max(
        index for index, line in enumerate(told[:listed]) if "copies the allocated devices" in line
    )
    assert cloned < inserted < listed
    assert told[-1].startswith("therefore device")


@pytest.mark.parametrize("strategy", ["random", search_campaign.EXHAUSTIVE])
def test_of_past_runs_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    made: weakref.WeakSet[world.World] = weakref.WeakSet()
    make = world.World.__init__

    def remember(self: world.World, *args: Any, **keywords: Any) -> None:
        made.add(self)
        make(self, *args, **keywords)

    monkeypatch.setattr(world.World, "__init__", remember)
    wanted = world_searches.hunt(SMALLEST, schedules=105, strategy=strategy)
    kept = [len(made) for _ in search_campaign.explore(wanted)]
    assert len(kept) > 100
    assert max(kept) == 0


def test_users_with_controller_and_kubelet_come_through() -> None:
    """Everything unchanged in one process: templates, deallocation, deletion, and the device used
    again and again.
    """
    run = search_campaign.replay(undisturbed("two-users-one-device"))
    assert run.finding is None
    assert len(run.decisions) > 300


def test_a_run_made_again_later_is_the_same_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    def commits_at(now_ns: int) -> list[bytes]:
        monkeypatch.setattr(clocks, "wall_ns", lambda: now_ns)
        run = search_campaign.replay(undisturbed("two-users-one-device"), record=True)
        return [commit.object.data for _, commit in run.commits]

    assert commits_at(0) == commits_at(10**18)


SEEDS_OF_HAZARDS = {"extended-pod-bound-late": 13, "late-creation": 5}
"""Seeds with which the searches that would take longest find something soon."""


@pytest.mark.parametrize(
    "scenario",
    [
        name
        for name, spec in world_catalogue.WORLDS.items()
        if spec.hazard and spec.hazard.remedy is None
    ],
)
def test_a_hazard_without_a_remedy_is_found(scenario: str) -> None:
    """`tests/detection/test_remedies.py` has those with one."""
    seed = SEEDS_OF_HAZARDS.get(scenario, 3)
    progress = world_searches.explored(scenario, schedules=20_000, seed=seed)
    assert progress.findings, f"not in {progress.schedules} schedules"
    finding, decisions = progress.findings[0]
    kinds = ("device ", "entry: ", "prepared: ", "bound: ", "extended: ", "finalizer: ")
    assert finding.startswith(kinds)
    assert (
        search_campaign.replay(undisturbed(scenario).with_decisions(decisions)).finding == finding
    )


def test_a_handler_that_assumes_is_a_deadlock_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis H6: with exclusive emitting, a handler that calls the cache waits for itself."""

    class Assuming(assume_caches.AssumeCache):
        def __init__(self, handlers: Iterable[informers.EventHandler] = ()) -> None:
            super().__init__([*handlers, self])

        def on_update(self, old: dict[str, Any], new: dict[str, Any]) -> None:
            super().on_update(old, new)

    parts = schedulers.SchedulerParts(assume_cache=Assuming)
    chosen = dataclasses.replace(chosen_parts.of(), scheduler=parts)
    monkeypatch.setattr(chosen_parts, "of", lambda *_: chosen)
    run = search_campaign.replay(undisturbed(SMALLEST))
    assert run.finding is not None
    assert run.finding.startswith("deadlock: ")
    assert "waits for baton assume-cache-emitter" in run.finding


def test_a_saved_run_is_judged_like_any_other(tmp_path: pathlib.Path) -> None:
    token = smallest_finding()
    run = search_campaign.replay(token, record=True)
    directory = output.save(tmp_path / "run", token, run)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.INVALID
    assert [item.name for item in judgement.certificate if not item.ok] == []
    (violation,) = verdicts.double_allocations(judgement.checks)
    assert {holder.name for holder in violation.holders} == {"claim-1", "claim-2"}
    publishing.publish(judging.examine(directory))
    page = directory.report.read_text()
    assert f"flake-hunt replay {token}" in page
    assert "It saw the device in neither" in page


def test_a_saved_run_without_a_finding_is_valid(tmp_path: pathlib.Path) -> None:
    token = tokens.Token(scenario=SMALLEST, defects=(), decisions=())
    run = search_campaign.replay(token, record=True)
    directory = output.save(tmp_path / "run", token, run)
    assert judging.judge(directory).verdict is verdicts.Verdict.VALID
