"""Volume mounts and block devices of containers."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
_BLOCK = ("persistentVolumeClaim", "ephemeral")


def of_container(container: Document, at: str, volumes: Mapping[str, Document]) -> Iterator[Cause]:
    """Validate `volumeMounts` and `volumeDevices` of a container."""
    if mounts := container.get("volumeMounts"):
        yield from _mounts(mounts, container, f"{at}.volumeMounts", volumes)
    if devices := container.get("volumeDevices"):
        yield from _devices(devices, container, f"{at}.volumeDevices", volumes)


def _mounts(
    mounts: list[Document], container: Document, at: str, volumes: Mapping[str, Document]
) -> Iterator[Cause]:
    devices = container.get("volumeDevices") or ()
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        where, path = f"{at}[{index}]", mount.get("mountPath") or ""
        yield from _volume(mount, where, volumes)
        yield from field_rules.required(mount, where, "mountPath")
        if path in seen:
            yield field_errors.invalid(f"{where}.mountPath", path, "must be unique")
        seen.add(path)
        yield from _overlap(mount, where, "mountPath", devices, "devicePath", "volumeDevices")
        yield from _sub_path(mount, where, at)
        yield from _propagation(mount, container, at)
        yield from _recursive(mount, at)


def _volume(part: Document, at: str, volumes: Mapping[str, Document]) -> Iterator[Cause]:
    name = part.get("name") or ""
    if not name:
        yield field_errors.required(f"{at}.name")
    if name not in volumes:
        yield field_errors.not_found(f"{at}.name", name)


def _overlap(
    part: Document, at: str, key: str, others: Any, other_key: str, what: str
) -> Iterator[Cause]:
    """Reject a volume or path that the container uses both as a mount and as a block device."""
    name, path = part.get("name") or "", part.get(key) or ""
    if name in [other.get("name") or "" for other in others]:
        yield field_errors.invalid(f"{at}.name", name, f"must not already exist in {what}")
    if path in [other.get(other_key) or "" for other in others]:
        why = f"must not already exist as a path in {what}"
        yield field_errors.invalid(f"{at}.{key}", path, why)


def _sub_path(mount: Document, where: str, at: str) -> Iterator[Cause]:
    """Validate `subPath` and `subPathExpr`; like kube-apiserver, report them without the index."""
    path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if path:
        yield from formats.check(f"{at}.subPath", path, formats.descending_path)
    if path and expression:
        why = "subPathExpr and subPath are mutually exclusive"
        yield field_errors.invalid(f"{where}.subPathExpr", expression, why)
    if expression:
        yield from formats.check(f"{at}.subPathExpr", expression, formats.descending_path)


def _propagation(mount: Document, container: Document, at: str) -> Iterator[Cause]:
    yield from field_rules.enum_field(mount, at, "mountPropagation", _PROPAGATIONS)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mount.get("mountPropagation") == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        yield field_errors.forbidden(f"{at}.mountPropagation", why)


def _recursive(mount: Document, at: str) -> Iterator[Cause]:
    yield from field_rules.enum_field(mount, at, "recursiveReadOnly", _RECURSIVE)
    if mount.get("recursiveReadOnly") not in ("Enabled", "IfPossible"):
        return
    if not mount.get("readOnly"):
        why = "may only be specified when readOnly is true"
        yield field_errors.forbidden(f"{at}.recursiveReadOnly", why)
    if mount.get("mountPropagation") not in (None, "None"):
        why = "may only be specified when mountPropagation is None or not specified"
        yield field_errors.forbidden(f"{at}.recursiveReadOnly", why)


def _devices(
    devices: list[Document], container: Document, at: str, volumes: Mapping[str, Document]
) -> Iterator[Cause]:
    mounts = container.get("volumeMounts") or ()
    seen_names: set[str] = set()
    seen_paths: set[str] = set()
    for index, device in enumerate(devices):
        where, name, path = (
            f"{at}[{index}]",
            device.get("name") or "",
            device.get("devicePath") or "",
        )
        yield from _volume(device, where, volumes)
        if name in seen_names:
            yield field_errors.invalid(f"{where}.name", name, "must be unique")
        if name in volumes and not any(kind in volumes[name] for kind in _BLOCK):
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield field_errors.invalid(f"{where}.name", name, why)
        yield from field_rules.required(device, where, "devicePath")
        if path in seen_paths:
            yield field_errors.invalid(f"{where}.devicePath", path, "must be unique")
        if ".." in path.split("/"):
            yield field_errors.invalid(
                f"{where}.devicePath", path, "can not contain backsteps ('..')"
            )
        yield from _overlap(device, where, "devicePath", mounts, "mountPath", "volumeMounts")
        seen_names.add(name)
        seen_paths.add(path)
