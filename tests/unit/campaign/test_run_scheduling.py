"""The order in which runs are handed to workers."""

import collections
import types

from xdist.scheduler import LoadScheduling

from harness.campaign import campaign_plan, plugin


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


def test_each_worker_begins_one_run_before_any_has_its_next() -> None:
    runs = [
        campaign_plan.PlannedRun(scenario="s", title=f"s{number}", repetition=1, seed=1)
        for number in range(30)
    ]
    handed = plugin._handed_out(runs, 3)
    assert sorted(run.title for run in handed) == sorted(run.title for run in runs)
    options = {"tx": ["popen"] * 3, "maxschedchunk": 1}
    config = types.SimpleNamespace(getvalue=options.get, getoption=options.get)
    scheduling = LoadScheduling(config, None)
    workers = [Worker() for _ in range(3)]
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, [run.title for run in handed])
    scheduling.schedule()
    queues = [[handed[index].title for index in worker.queue] for worker in workers]
    assert queues == [["s0", "s3"], ["s1", "s4"], ["s2", "s5"]]
    left = [handed[index] for index in scheduling.pending]
    assert left == runs[6:]
    assert plugin._handed_out(runs[:2], 3) == runs[:2]
    assert plugin._handed_out(runs, 0) == runs
