"""The order in which runs are handed to workers."""

import collections
import pathlib
import types

from harness.campaign import campaign_plan, hunting

SUBJECTS, REPEAT = 10, 3


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
    return campaign_plan.CampaignPlan(seed=1, reports="r", cluster={}, runs=runs)


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
