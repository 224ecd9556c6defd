"""The settings file of `flake-hunt part driver`, which is read again whenever it changes."""

import fnmatch
import pathlib
import sys
from typing import Literal

from harness import concurrency, errors
from harness.cluster.driver import driver_settings
from harness.cluster.kubelet_api import preparations
from harness.scenario import driver_specs

Moment = Literal[
    "received",
    "claim-read",
    "before-checkpoint",
    "checkpoint-written",
    "cdi-written",
    "cdi-removed",
    "checkpoint-removed",
    "before-answer",
]
"""A moment of a call: those of the files of Prepare are written, of Unprepare removed."""
Code = Literal[
    "", "CANCELLED", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INTERNAL", "UNAVAILABLE"
]


class CallSpec(driver_specs.CallSpec):
    """Calls of one kind, with more than drivers in runs can do."""

    claims: tuple[str, ...] = ()
    """Patterns of `namespace/name`: `error`, `crash_at` and `block_at` are for these claims only;
    none: for all."""
    error: str = ""
    """Each of these claims fails with this text."""
    crash_at: Moment | None = None
    """The program kills itself (SIGKILL) at this moment, once: `crashed-…` in the state folder
    says that it has. None: it does not."""
    block_at: Moment | None = None
    """Calls wait at this moment until the settings change. None: they do not."""
    code: Code = ""
    """Every call fails as a whole with this code of gRPC. Empty: it does not."""

    def concerns(self, claim: str) -> bool:
        """Return whether a claim (`namespace/name`) is one of `claims`."""
        return not self.claims or any(fnmatch.fnmatchcase(claim, name) for name in self.claims)


class ProgramSpec(driver_specs.DriverSpec):
    """The behaviour of the program."""

    exclusivity: bool = True
    """The driver refuses a device that another claim holds prepared."""
    prepare: CallSpec = CallSpec()
    """Calls that prepare claims."""
    unprepare: CallSpec = CallSpec()
    """Calls that unprepare claims."""
    services: tuple[str, ...] = preparations.SERVICES
    """Names of the services that registration tells, as `v1.DRAPlugin`. Read at the start only."""
    unhealthy: tuple[str, ...] = ()
    """`pool/device` of the devices whose health is told as bad."""


class LiveSettings:
    """The settings of a file, as it is now. Thread-safe."""

    def __init__(self, path: pathlib.Path | None) -> None:
        """`path` None: the defaults. Raises UsageError if the file is no settings file."""
        self._path, self._guard = path, concurrency.lock("driver.settings")
        self._seen = self._state()
        self._spec = ProgramSpec() if path is None else driver_settings.decode(path, ProgramSpec)

    def now(self) -> ProgramSpec:
        """Return the settings; those before, with a message, if the file cannot be read."""
        with self._guard:
            state = self._state()
            if self._path is not None and state != self._seen:
                self._seen = state
                self._read(self._path)
            return self._spec

    def _read(self, path: pathlib.Path) -> None:
        try:
            self._spec = driver_settings.decode(path, ProgramSpec)
        except errors.UsageError as error:
            sys.stderr.write(f"flake-hunt driver: {error}; the settings stay\n")

    def _state(self) -> tuple[int, int, int] | None:
        """Return what changes with the file's content; None: there is no file."""
        try:
            found = self._path.stat() if self._path is not None else None
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns, found.st_size) if found is not None else None
