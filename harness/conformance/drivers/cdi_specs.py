"""CDI files as a container runtime reads them: what they define, and what is wrong with them.

Written from the CDI specification (cncf-tags/container-device-interface), versions 0.1 to 1.1.
"""

import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import yaml

_SUFFIXES = (".json", ".yaml")
"""A runtime reads no other files."""
_KIND = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"(0\.[1-8]|0\.3\.1|1\.[01])(\.0)?")
_HOOKS = (
    "prestart",
    "createRuntime",
    "createContainer",
    "startContainer",
    "poststart",
    "poststop",
)
Document: TypeAlias = Mapping[str, Any]


def is_qualified(text: str) -> bool:
    """Return whether an id is `vendor/class=name`."""
    kind, is_there, name = text.partition("=")
    return bool(is_there and _KIND.fullmatch(kind) and _NAME.fullmatch(name))


def files(folder: pathlib.Path) -> dict[pathlib.Path, bytes]:
    """Return the CDI files of a folder with their contents."""
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
        document = _document(content)
        for device in _items(document, "devices"):
            name = f"{document.get('kind')}={device.get('name')}"
            found.setdefault(name, []).append(path)
    return found


def edits(contents: Mapping[pathlib.Path, bytes]) -> dict[str, str]:
    """Return id -> what it does to a container, with the edits of its file, as JSON."""
    return {
        f"{document.get('kind')}={device.get('name')}": json.dumps(
            [document.get("containerEdits"), device.get("containerEdits")], sort_keys=True
        )
        for document in map(_document, contents.values())
        for device in _items(document, "devices")
    }


def faults(content: bytes) -> Iterator[str]:
    """Yield a sentence for each thing for which a container runtime refuses a file."""
    document = _document(content)
    if not document:
        yield "expected an object in JSON or YAML"
        return
    yield from _unknown(document, "the file", _ROOT)
    if not _VERSION.fullmatch(str(document.get("cdiVersion"))):
        yield f"expected a known cdiVersion, got {document.get('cdiVersion')!r}"
    if not _KIND.fullmatch(str(document.get("kind"))):
        yield f"expected kind as vendor/class, got {document.get('kind')!r}"
    if not _items(document, "devices"):
        yield "expected at least one device"
    for device in _items(document, "devices"):
        yield from _faults_of_device(device)
    yield from _faults_of_edits(document.get("containerEdits") or {}, "the file")


_ROOT = {"cdiVersion", "kind", "annotations", "devices", "containerEdits"}
_DEVICE = {"name", "annotations", "containerEdits"}
_EDITS = {"env", "deviceNodes", "hooks", "mounts", "intelRdt", "additionalGids", "netDevices"}


def _faults_of_device(device: Document) -> Iterator[str]:
    name = device.get("name")
    where = f"device {name!r}"
    yield from _unknown(device, where, _DEVICE)
    if not _NAME.fullmatch(str(name)):
        yield f"expected a name of letters, digits and _.:- for a device, got {name!r}"
    edits = device.get("containerEdits")
    if not isinstance(edits, dict) or not any(edits.values()):
        yield f"{where} has no containerEdits, so that containers get nothing of it"
        return
    yield from _faults_of_edits(edits, where)


def _faults_of_edits(edits: Document, where: str) -> Iterator[str]:
    yield from _unknown(edits, f"containerEdits of {where}", _EDITS)
    for variable in edits.get("env") or ():
        if not (isinstance(variable, str) and variable.find("=") > 0):
            yield f"expected NAME=VALUE in env of {where}, got {variable!r}"
    for node in _items(edits, "deviceNodes"):
        if not node.get("path") or node.get("type", "") not in ("", "b", "c", "u", "p"):
            yield f"expected a path and a type b, c, u or p of a device node of {where}, got {node}"
    for hook in _items(edits, "hooks"):
        if hook.get("hookName") not in _HOOKS or not hook.get("path"):
            yield f"expected a known hookName and a path of a hook of {where}, got {hook}"
    for mount in _items(edits, "mounts"):
        if not (mount.get("hostPath") and mount.get("containerPath")):
            yield f"expected hostPath and containerPath of a mount of {where}, got {mount}"


def _unknown(document: Document, where: str, known: set[str]) -> Iterator[str]:
    for name in sorted(document.keys() - known, key=str):
        yield f"unknown key {name!r} in {where}"


def _items(document: Document, key: str) -> list[Document]:
    found = document.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _document(content: bytes) -> Document:
    try:
        found = json.loads(content) if content[:1] == b"{" else yaml.safe_load(content)
    except (ValueError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}
