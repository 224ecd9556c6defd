"""The LoadTestShape of a locustfile: how many users there are, and when.

The load ends when the shape says so, by `tick()` returning None, or when the scenario's time is up.
Locust would stop its users in the middle of what they do; here they end it first, as users do when
the time is up, so that no pod is left.
"""

import logging
from collections.abc import Callable
from typing import Any

import locust
from locust import env, runners

from harness.extensions import loading
from harness.traffic import workers

_TIME_IS_UP = "flake-hunt-time-is-up"
"""Type of the message by which the master lets the users begin nothing new."""


def lead(
    environment: env.Environment, runner: runners.MasterRunner, on_failure: Callable[[str], None]
) -> None:
    """Let the master follow the shape of the locustfile, if it has one, to its end."""
    if environment.shape_class is not None:
        environment.shape_class = EndingShape(
            environment.shape_class,
            on_end=lambda: runner.send_message(_TIME_IS_UP),
            on_failure=on_failure,
        )


def follow(
    worker: workers.Worker, environment: env.Environment, runner: runners.WorkerRunner
) -> None:
    """Let the users of a worker begin all at once, or with a shape as they come, until it ends."""
    if environment.shape_class is None:
        environment.events.spawning_complete.add_listener(
            lambda **_: worker.release(users=runner.target_user_count)
        )
    else:
        environment.events.test_start.add_listener(lambda **_: worker.release_shaped())
        runner.register_message(_TIME_IS_UP, lambda **_: worker.end_time())


class EndingShape(locust.LoadTestShape):
    """A shape that lets users end their work, and then stays as it is until they are done."""

    abstract = True

    def __init__(
        self,
        shape: locust.LoadTestShape,
        *,
        on_end: Callable[[], None],
        on_failure: Callable[[str], None],
    ) -> None:
        """`on_end` is called again and again from its end on.

        `on_failure` gets the reason if `tick` fails.
        """
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
