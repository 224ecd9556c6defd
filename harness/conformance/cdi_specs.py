"""CDI files as a container runtime reads them: what they define, and what is wrong with them.

Written from the CDI specification (cncf-tags/container-device-interface), versions 0.1 to 1.1.
"""

import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import yaml

_SUFFIXES = (".json", ".yaml")
"""A runtime reads no other files."""
_KIND = r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?"
_NAME = r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?"
_VERSION = r"(0\.[1-8]|0\.3\.1|1\.[01])(\.0)?"
Document: TypeAlias = Mapping[str, Any]
_Path = Annotated[str, msgspec.Meta(min_length=1)]


class _DeviceNode(msgspec.Struct):
    path: _Path
    type: Literal["", "b", "c", "u", "p"] = ""


class _Hook(msgspec.Struct, rename="camel"):
    path: _Path
    hook_name: Literal[
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"
    ]


class _Mount(msgspec.Struct, rename="camel"):
    host_path: _Path
    container_path: _Path


class _Edits(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    env: list[Annotated[str, msgspec.Meta(pattern="^[^=]+=")]] | None = None
    device_nodes: list[_DeviceNode] | None = None
    hooks: list[_Hook] | None = None
    mounts: list[_Mount] | None = None
    intel_rdt: Document | None = None
    additional_gids: list[int] | None = None
    net_devices: list[Any] | None = None


class _Device(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(pattern=rf"^{_NAME}\Z")]
    container_edits: _Edits
    annotations: Document | None = None


class _Spec(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    cdi_version: Annotated[str, msgspec.Meta(pattern=rf"^{_VERSION}\Z")]
    kind: Annotated[str, msgspec.Meta(pattern=rf"^{_KIND}\Z")]
    devices: Annotated[list[_Device], msgspec.Meta(min_length=1)]
    annotations: Document | None = None
    container_edits: _Edits | None = None


def is_qualified(text: str) -> bool:
    return bool(re.fullmatch(f"{_KIND}={_NAME}", text))


def files(folder: pathlib.Path) -> dict[pathlib.Path, bytes]:
    found: dict[pathlib.Path, bytes] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix in _SUFFIXES:
            try:
                found[path] = path.read_bytes()
            except OSError:  # removed meanwhile
                continue
    return found


def definitions(contents: Mapping[pathlib.Path, bytes]) -> dict[str, list[pathlib.Path]]:
    """Return id -> the files that define it; files that cannot be read define nothing."""
    found: dict[str, list[pathlib.Path]] = {}
    for path, content in contents.items():
        for name, _ in _devices(content):
            found.setdefault(name, []).append(path)
    return found


def edits(contents: Mapping[pathlib.Path, bytes]) -> dict[str, str]:
    """Return id -> what it does to a container, with the edits of its file, as JSON."""
    return dict(pair for content in contents.values() for pair in _devices(content))


def fault(content: bytes) -> str:
    """Return why a container runtime refuses a file; empty: it does not."""
    try:
        spec = msgspec.convert(_document(content), _Spec)
    except msgspec.ValidationError as error:
        return str(error)
    for device in spec.devices:
        if not any(msgspec.structs.astuple(device.container_edits)):
            return f"device {device.name!r} has no containerEdits, so that containers get nothing of it"
    return ""


def _devices(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the id and the edits of each device in a file."""
    document = _document(content)
    found = document.get("devices")
    for device in found if isinstance(found, list) else ():
        if isinstance(device, dict):
            made = [document.get("containerEdits"), device.get("containerEdits")]
            name = f"{document.get('kind')}={device.get('name')}"
            yield name, json.dumps(made, sort_keys=True)


def _document(content: bytes) -> Document:
    try:
        found = json.loads(content) if content[:1] == b"{" else yaml.safe_load(content)
    except (ValueError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}
