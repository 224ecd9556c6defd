"""What Locust runs: connects its events with the users and the worker of the run's plan.

Locust forks its workers after importing this, so nothing here opens a file, starts a thread or draws a number.
"""

import contextlib
import functools
import os
import pathlib
from typing import Any

import gevent
import psutil
from locust import env, events, runners

from harness import processes
from harness.history import directories, plans
from harness.traffic import launching, users, workers

DONE = "flake-hunt-done"
WORKER_LOST = 3
CHECK_INTERVAL_S = 1.0
QUIT_INTERVAL_S = 0.05
QUIT_TIMEOUT_S = launching.STOP_TIMEOUT_S + 5.0
"""Less than a run gives the whole traffic to end."""

_directory = directories.existing(pathlib.Path(os.environ[launching.DIRECTORY_VARIABLE]))
_traffic = plans.read(_directory.plan).settings["traffic"]
User: type[users.ClaimUser] = type("User", (users.BY_PROFILE[_traffic["profile"]],), {})
"""The one user class of this run; Locust finds it by looking through this module."""
# At once: a worker that is still looking for its master when that is killed would go on looking for minutes.
os.register_at_fork(after_in_child=functools.partial(processes.die_with, os.getpid()))


@events.init.add_listener
def on_init(environment: env.Environment, **_: Any) -> None:
    """Once in each process, after the fork."""
    match environment.runner:
        case runners.MasterRunner() as master:
            _Master(environment, master)
        case runners.WorkerRunner() as runner:
            _prepare_worker(environment, runner)


class _Master:
    """Ends the test when every worker is done, or when one is lost; ends itself after its workers."""

    def __init__(self, environment: env.Environment, runner: runners.MasterRunner) -> None:
        self._environment, self._runner = environment, runner
        self._done = 0
        runner.register_message(DONE, self._on_done)
        environment.events.quit.add_listener(self._wait_for_workers)
        gevent.spawn(self._look_for_lost_workers)

    def _on_done(self, **_: Any) -> None:
        self._done += 1
        if self._done == _traffic["processes"]:
            self._runner.quit()

    def _look_for_lost_workers(self) -> None:
        """Locust goes on without a worker that died, and exits with 0."""
        while not self._runner.clients.missing:
            gevent.sleep(CHECK_INTERVAL_S)
        self._environment.process_exit_code = WORKER_LOST
        self._runner.quit()

    def _wait_for_workers(self, **_: Any) -> None:
        """They die with this process, and close their journals only after the calls that they are in. Locust waits half a second."""
        with contextlib.suppress(gevent.Timeout), gevent.Timeout(QUIT_TIMEOUT_S):
            while any(map(_is_running, psutil.Process().children())):
                gevent.sleep(QUIT_INTERVAL_S)


def _is_running(worker: psutil.Process) -> bool:
    try:
        return worker.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _prepare_worker(environment: env.Environment, runner: runners.WorkerRunner) -> None:
    worker = workers.Worker()
    User.worker = worker

    worker.on_done = lambda: runner.send_message(DONE, {"worker": worker.index})
    add = environment.events.spawning_complete.add_listener
    add(lambda **_: worker.release(users=runner.target_user_count))
    environment.events.test_stopping.add_listener(lambda **_: worker.stop())
    environment.events.quit.add_listener(lambda **_: worker.journal.close())
    worker.prepare()
