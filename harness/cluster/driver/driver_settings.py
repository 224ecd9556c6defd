"""Reads the settings files of the DRA driver."""

import pathlib
from typing import TypeVar

import pydantic

from harness import errors, regular_files
from harness.scenario import driver_specs

S = TypeVar("S", bound=pydantic.BaseModel)


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
        raise errors.UsageError(
            f"{path}: expected a settings file of the driver in JSON ({_first(error)})"
        ) from error


def _first(error: pydantic.ValidationError) -> str:
    """Return the first problem with its key."""
    problem = error.errors()[0]
    key = ".".join(map(str, problem["loc"]))
    return f"{key}: {problem['msg']}" if key else str(problem["msg"])
