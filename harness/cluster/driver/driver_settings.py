"""The settings files of the DRA driver: in runs, and of the program, which reads its file again.

`flake-hunt part driver` behaves by its file as it is now; a run's driver is read once.
"""

import fnmatch
import pathlib
import sys
from typing import Literal, TypeVar

import pydantic

from harness import concurrency, errors, regular_files
from harness.cluster.kubelet_api import preparations
from harness.scenario import driver_specs

S = TypeVar("S", bound=pydantic.BaseModel)
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


def read(path: pathlib.Path | None) -> driver_specs.DriverSpec:
    """Return the settings of a file in JSON; None: the defaults of a driver that is run alone.

    A driver that is run alone refuses a device that another claim holds. Raises UsageError if the
    file cannot be read, or has unknown keys or values.
    """
    if path is None:
        return driver_specs.DriverSpec(exclusivity=True)
    return decode(path, driver_specs.DriverSpec)


def decode(path: pathlib.Path, kind: type[S]) -> S:
    """Return the settings of a file in JSON.

    Raises UsageError if the file cannot be read, or has unknown keys or values.
    """
    try:
        return kind.model_validate_json(regular_files.content(path))
    except OSError as error:
        raise errors.UsageError(
            f"{path}: expected a settings file of the driver ({error.strerror})"
        ) from error
    except pydantic.ValidationError as error:
        problem = error.errors()[0]
        said = ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"])))
        raise errors.UsageError(
            f"{path}: expected a settings file of the driver in JSON ({said})"
        ) from error


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


class LiveSettings:
    """The settings of a file, as it is now. Thread-safe."""

    def __init__(self, path: pathlib.Path | None) -> None:
        """`path` None: the defaults. Raises UsageError if the file is no settings file."""
        self._path, self._guard = path, concurrency.lock("driver.settings")
        self._seen = self._state()
        self._spec = ProgramSpec() if path is None else decode(path, ProgramSpec)

    def now(self) -> ProgramSpec:
        """Return the settings; those before, with a message, if the file cannot be read."""
        with self._guard:
            state = self._state()
            if self._path is not None and state != self._seen:
                self._seen = state
                try:
                    self._spec = decode(self._path, ProgramSpec)
                except errors.UsageError as error:
                    sys.stderr.write(f"flake-hunt driver: {error}; the settings stay\n")
            return self._spec

    def _state(self) -> tuple[int, int, int] | None:
        """Return what changes with the file's content; None: there is no file."""
        try:
            found = self._path.stat() if self._path is not None else None
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns, found.st_size) if found is not None else None
