"""Acts at the moments of a call on demand: the program fails, blocks, or kills itself."""

import os
import pathlib
import signal

from harness import concurrency, writing
from harness.cluster.driver import program_settings
from harness.cluster.kubelet_api import preparations

_LOOK_S = 0.02


class MomentActions:
    """Is called at each moment of Prepare and Unprepare. Thread-safe."""

    def __init__(self, settings: program_settings.LiveSettings, state: pathlib.Path) -> None:
        self._settings, self._state = settings, state
        self._stopped = concurrency.Event("driver.moments")

    def __call__(self, moment: str, claim: str) -> None:
        """Act at a moment, as `prepare.received`, for a claim (`namespace/name`).

        Raises PreparationError on demand.
        """
        name, _, when = moment.partition(".")
        spec = self._spec(name)
        if not spec.concerns(claim):
            return
        if spec.error and when == "received":
            raise preparations.PreparationError("FailedOnDemand", spec.error)
        if spec.crash_at == when:
            self._crash_once(moment)
        while spec.block_at == when and self._spec(name) is spec:
            if self._stopped.wait(_LOOK_S):
                raise preparations.PreparationError("Stopped", "the driver ends")

    def stop(self) -> None:
        """End all waits."""
        self._stopped.set()

    def _spec(self, name: str) -> program_settings.CallSpec:
        settings = self._settings.now()
        return settings.prepare if name == "prepare" else settings.unprepare

    def _crash_once(self, moment: str) -> None:
        note = self._state / f"crashed-{moment}"
        if not note.exists():
            with writing.explained(note):
                note.touch()
            os.kill(os.getpid(), signal.SIGKILL)
