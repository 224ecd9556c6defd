"""Locust's runner of a remote worker, which the master admits first."""

from collections.abc import Callable

from locust import env, runners


class AdmittedRunner(runners.WorkerRunner):
    """A worker's runner that introduces itself on the channel before it connects."""

    def __init__(
        self, environment: env.Environment, host: str, port: int, *, admit: Callable[[str], None]
    ) -> None:
        """`admit` is called with the runner's name, and returns when the master expects it."""
        self._admit = admit
        super().__init__(environment, host, port)

    def connect_to_master(self) -> None:
        """Connect when the master expects this runner."""
        self._admit(self.client_id)
        super().connect_to_master()
