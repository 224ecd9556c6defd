"""The devices that the program publishes: a number of equal ones, or those of a file."""

import pathlib
from collections.abc import Iterator
from typing import Any

import yaml

from harness import errors, regular_files
from harness.model.objects import Object


def equal(count: int) -> tuple[Object, ...]:
    """Return devices that differ in their names and indexes only."""
    return tuple(
        {
            "name": f"device-{index:03d}",
            "attributes": {"model": {"string": "fake"}, "index": {"int": index}},
        }
        for index in range(count)
    )


def read(path: pathlib.Path) -> tuple[Object, ...]:
    """Return the devices of all ResourceSlices of a file, in YAML or JSON.

    Raises UsageError if it cannot be read, or has other things or no devices.
    """
    try:
        documents = list(yaml.safe_load_all(regular_files.content(path)))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise _unusable(path, why) from error
    devices = tuple(device for document in documents for device in _devices(document, path))
    if not devices:
        raise _unusable(path, "there are no devices")
    return devices


def _devices(document: Any, path: pathlib.Path) -> Iterator[Object]:
    if document is None:
        return
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _devices(item, path)
        return
    spec = document.get("spec") if isinstance(document, dict) else None
    found = spec.get("devices") if isinstance(spec, dict) else None
    if not isinstance(found, list) or not all(_is_device(item) for item in found):
        raise _unusable(path, f"this is none: {document!r:.60}")
    yield from found


def _is_device(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str)


def _unusable(path: pathlib.Path, why: str) -> errors.UsageError:
    return errors.UsageError(f"{path}: expected ResourceSlices with devices ({why})")
