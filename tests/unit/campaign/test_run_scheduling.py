"""Runs of decided subjects are not handed to workers, however many are planned."""

import collections
import pathlib
import types

from harness.campaign import campaign_plan, hunting, results, sequential_stopping
from harness.checks.verdicts import Verdict

SUBJECTS, REPEAT = 10, 100
NEEDED = 4
"""Clean runs that decide 0.5@0.9."""


class Worker:
    """The queue of a worker of pytest-xdist."""

    def __init__(self) -> None:
        self.gateway = types.SimpleNamespace(id="gw")
        self.queue: collections.deque[int] = collections.deque()
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.queue.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True


def plan() -> campaign_plan.CampaignPlan:
    runs = [
        campaign_plan.PlannedRun(
            scenario="s",
            title=f"s{subject}",
            repetition=turn,
            seed=1,
            number=turn * SUBJECTS + subject,
        )
        for turn in range(REPEAT)
        for subject in range(SUBJECTS)
    ]
    return campaign_plan.CampaignPlan(
        seed=1, reports="r", cluster={}, runs=runs, until_decided="0.5@0.9"
    )


def test_a_campaign_ends_when_all_subjects_are_decided(tmp_path: pathlib.Path) -> None:
    planned = plan()
    collector = hunting._Collector(planned, tmp_path / "results.jsonl", lambda result: None)
    options = {"tx": ["popen", "popen"], "maxschedchunk": 1}
    config = types.SimpleNamespace(getvalue=options.get, getoption=options.get)
    scheduling = collector.pytest_xdist_make_scheduler(config, None)
    workers = [Worker(), Worker()]
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, [f"campaign.json::{run.id}" for run in planned.runs])
    scheduling.schedule()
    made = 0
    while any(worker.queue for worker in workers):
        for worker in workers:
            # A worker that is not told to end keeps one test, whose successor it does not know.
            if len(worker.queue) > 1 or (worker.queue and worker.shutting_down):
                index = worker.queue.popleft()
                run = planned.runs[index]
                result = results.RunResult(
                    number=run.number,
                    scenario=run.title,
                    subject=run.subject,
                    seconds=1,
                    verdict=Verdict.VALID,
                )
                made += 1
                collector._add(result)
                scheduling.mark_test_complete(worker, index, 1)
    assert scheduling.tests_finished
    assert all(worker.shutting_down for worker in workers)
    assert NEEDED * SUBJECTS <= made <= NEEDED * SUBJECTS + 4
    decisions = sequential_stopping.decisions(planned, collector.results)
    assert {item.answer for item in decisions} == {"below"}


def test_each_worker_begins_one_run_before_any_has_its_next(tmp_path: pathlib.Path) -> None:
    planned = plan()
    collector = hunting._Collector(planned, tmp_path / "results.jsonl", lambda result: None)
    options = {"tx": ["popen"] * 3, "maxschedchunk": 1}
    config = types.SimpleNamespace(getvalue=options.get, getoption=options.get)
    scheduling = collector.pytest_xdist_make_scheduler(config, None)
    workers = [Worker() for _ in range(3)]
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, [f"campaign.json::{run.id}" for run in planned.runs])
    scheduling.schedule()
    assert [[*worker.queue] for worker in workers] == [[0, 3], [1, 4], [2, 5]]
    assert [*scheduling.pending] == [*range(6, len(planned.runs))]
