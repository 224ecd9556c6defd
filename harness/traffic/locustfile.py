"""The locustfile: connects Locust's events to the users and the worker of the run's plan.

Locust forks its workers after importing this module. Therefore nothing here opens a file, starts a
thread or draws a random number at import time.
"""

import contextlib
import functools
import logging
import os
import pathlib
import signal
from collections.abc import Callable
from typing import Any

import gevent
import locust
import psutil
from locust import env, events, runners

from harness import bound_processes
from harness.extensions import loading
from harness.history import directories, plans
from harness.traffic import launching, plugged_users, profiles, users, workers

DONE = "flake-hunt-done"
"""Type of the message with which a worker reports that all its users are done."""
FAILED = "flake-hunt-failed"
"""Type of the message with which a worker reports that a user of a plug-in has failed."""
TIME_IS_UP = "flake-hunt-time-is-up"
"""Type of the message by which the master lets the users begin nothing new."""
CHECK_INTERVAL_S = 1.0
"""Seconds between two checks for lost workers."""
EXPECT_INTERVAL_S = 0.02
"""Seconds between two checks for workers that are ready."""
EXPECT_TIMEOUT_S = 5.0
"""Seconds to wait for them before Locust does it."""
QUIT_INTERVAL_S = 0.05
"""Seconds between two checks for running workers while the master quits."""
QUIT_TIMEOUT_S = launching.STOP_TIMEOUT_S + 5.0
"""Seconds to wait for the workers to end; less than a run waits for the whole traffic."""

_directory = directories.existing(pathlib.Path(os.environ[launching.DIRECTORY_VARIABLE]))
_traffic = plans.read(_directory.plan).settings["traffic"]
# Locust finds user classes and the shape by searching this module.
if _traffic.get("locustfile"):
    globals().update(plugged_users.classes(_traffic["locustfile"]))
    globals().update(plugged_users.shape(_traffic["locustfile"]))
else:
    globals()["User"] = type("User", (profiles.BY_PROFILE[_traffic["profile"]],), {})
# Right after the fork: a worker that has not connected when its master is killed would otherwise
# try to connect for minutes.
os.register_at_fork(after_in_child=functools.partial(bound_processes.die_with, os.getpid()))


@events.init.add_listener
def on_init(environment: env.Environment, **_: Any) -> None:
    """Set up the master or a worker; Locust calls this once per process, after the fork."""
    match environment.runner:
        case runners.MasterRunner() as master:
            _Master(environment, master).expect_workers()
        case runners.WorkerRunner() as runner:
            _prepare_worker(environment, runner)


class _Master:
    def __init__(self, environment: env.Environment, runner: runners.MasterRunner) -> None:
        self._environment, self._runner = environment, runner
        self._done = 0
        runner.register_message(DONE, self._on_done)
        runner.register_message(FAILED, self._on_failed)
        environment.events.quit.add_listener(self._wait_for_workers)
        if environment.shape_class is not None:
            environment.shape_class = EndingShape(
                environment.shape_class,
                on_end=lambda: runner.send_message(TIME_IS_UP),
                on_failure=self._fail,
            )
            # Locust handles it only after the shape's end.
            gevent.signal_handler(signal.SIGTERM, self._end)
        gevent.spawn(self._look_for_lost_workers)

    def expect_workers(self) -> None:
        """Wait for the workers, for a moment; Locust, which waits longer, looks once a second."""
        with contextlib.suppress(gevent.Timeout), gevent.Timeout(EXPECT_TIMEOUT_S):
            while len(self._runner.clients.ready) < _traffic["processes"]:
                gevent.sleep(EXPECT_INTERVAL_S)

    def _on_done(self, **_: Any) -> None:
        self._done += 1
        if self._done == _traffic["processes"]:
            self._end()

    def _on_failed(self, msg: Any, **_: Any) -> None:
        self._fail(msg.data)

    def _fail(self, why: str) -> None:
        """Quit with an error: without this user, the load is not the one that was asked for."""
        logging.error("%s", why)
        self._environment.process_exit_code = launching.USER_FAILED
        self._end()

    def _look_for_lost_workers(self) -> None:
        """Quit with an error when a worker is lost; Locust would continue and exit with 0."""
        while not self._runner.clients.missing:
            gevent.sleep(CHECK_INTERVAL_S)
        self._environment.process_exit_code = launching.WORKER_LOST
        self._end()

    def _end(self) -> None:
        """Let Locust shut down: it asks the workers to quit, which takes half a second a time."""
        self._runner.greenlet.kill(block=False)

    def _wait_for_workers(self, **_: Any) -> None:
        """Wait for the workers, which close their journals only after their current calls.

        They die with this process, and Locust waits only half a second for them.
        """
        with contextlib.suppress(gevent.Timeout), gevent.Timeout(QUIT_TIMEOUT_S):
            while any(map(_is_running, psutil.Process().children())):
                gevent.sleep(QUIT_INTERVAL_S)


class EndingShape(locust.LoadTestShape):
    """The shape of a locustfile, at whose end users end their work; then it stays as it is.

    Locust would stop its users in the middle of what they do; here they end it first, as users do
    when the time is up, so that no pod is left.
    """

    abstract = True

    def __init__(
        self,
        shape: locust.LoadTestShape,
        *,
        on_end: Callable[[], None],
        on_failure: Callable[[str], None],
    ) -> None:
        """`on_end` is called again and again from its end on; `on_failure` gets a reason."""
        super().__init__()
        self.use_common_options = shape.use_common_options
        self._shape, self._on_end, self._on_failure = shape, on_end, on_failure
        self._last: Any = (0, 1.0)
        self._has_ended = self._has_failed = False

    def reset_time(self) -> None:
        self._shape.runner = self.runner
        self._shape.reset_time()

    def tick(self) -> Any:
        if not self._has_ended and not self._has_failed:
            self._ask()
        if self._has_ended:
            self._on_end()
        return self._last

    def _ask(self) -> None:
        try:
            wanted = self._shape.tick()
        except Exception as error:  # noqa: BLE001 - whatever it is, the load is not what was asked for
            self._has_failed = True
            self._on_failure(f"{type(self._shape).__name__}: {loading.told(error)}")
            return
        if wanted is None:
            self._has_ended = True
            logging.info("the shape has ended: users end what they do")
        else:
            self._last = wanted


def _is_running(worker: psutil.Process) -> bool:
    try:
        return worker.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _prepare_worker(environment: env.Environment, runner: runners.WorkerRunner) -> None:
    worker = workers.Worker()
    users.ClaimUser.worker = worker
    worker.on_done = lambda: runner.send_message(DONE, {"worker": worker.index})
    if environment.shape_class is None:
        environment.events.spawning_complete.add_listener(lambda **_: worker.release())
    else:
        environment.events.test_start.add_listener(lambda **_: worker.release(is_shaped=True))
        runner.register_message(TIME_IS_UP, lambda **_: worker.end_time())
    if _traffic.get("locustfile"):
        environment.events.user_error.add_listener(
            lambda exception, **_: runner.send_message(FAILED, loading.told(exception))
        )
    environment.events.test_stopping.add_listener(lambda **_: worker.stop())
    environment.events.quit.add_listener(lambda **_: worker.journal.close())
    worker.prepare()
