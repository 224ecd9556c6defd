"""CDI devices by their ids, as a container runtime finds them in the folder of a node.

A spec file says which devices it has, and how each of them edits a container. Of the edits only the
environment is read: containers of fake nodes have nothing else. A file that cannot be read has no
devices, so that only containers that need one of them are not started.
"""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from harness import concurrency, regular_files
from harness.cluster.dra import claim_infos
from harness.cluster.kubelet_api import preparations

_SUFFIXES = (".json", ".yaml")


class _Edits(msgspec.Struct, rename="camel"):
    env: list[str] = []


class _Device(msgspec.Struct, rename="camel"):
    name: str
    container_edits: _Edits = msgspec.field(default_factory=_Edits)


class _Spec(msgspec.Struct, rename="camel"):
    kind: str
    devices: list[_Device]
    container_edits: _Edits = msgspec.field(default_factory=_Edits)


_specs = msgspec.json.Decoder(_Spec)


class _File(msgspec.Struct):
    """A file as it was read."""

    changed: tuple[int, int, int]
    """inode, time of the last change in ns, and size."""
    spec: _Spec | None
    problem: str = ""
    """Why there is no spec."""


class CdiFolder:
    """The CDI folder of a node. Thread-safe; a file is read again when it has changed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._guard = concurrency.lock("kubelet.cdi")
        self._files: dict[str, _File] = {}

    def environment(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the environment that these devices give a container, a later one winning.

        Raises PreparationError for an id that no file has, or several have.
        """
        with self._guard:
            self._files = {path: self._read(path) for path in self._paths()}
            return self._environment(list(dict.fromkeys(ids)))

    def _environment(self, ids: Sequence[str]) -> dict[str, str]:
        edits: list[_Edits] = []
        used: set[str] = set()
        for wanted in ids:
            path, spec, device = self._find(wanted)
            if path not in used:  # those of the file itself come once
                edits.append(spec.container_edits)
            used.add(path)
            edits.append(device.container_edits)
        variables = [variable.partition("=") for edit in edits for variable in edit.env]
        return {name: value for name, _, value in variables}

    def _find(self, wanted: str) -> tuple[str, _Spec, _Device]:
        kind, _, name = wanted.partition("=")
        found = [
            (path, file.spec, device)
            for path, file in self._files.items()
            if file.spec is not None and file.spec.kind == kind
            for device in file.spec.devices
            if device.name == name
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise _error(f"CDI device {wanted} is in {found[0][0]} and {found[1][0]}")
        raise _error(f"unresolvable CDI device {wanted}: {self._why()}")

    def _why(self) -> str:
        """Return what may be the reason for a device that is not found."""
        broken = [f"{path}: {file.problem}" for path, file in self._files.items() if file.problem]
        return broken[0] if broken else f"no file in {self._folder} has it"

    def _paths(self) -> list[str]:
        try:
            return sorted(map(str, filter(_is_spec, self._folder.iterdir())))
        except OSError:
            return []

    def _read(self, path: str) -> _File:
        try:
            state = pathlib.Path(path).stat()
            changed = state.st_ino, state.st_mtime_ns, state.st_size
            known = self._files.get(path)
            if known is not None and known.changed == changed:
                return known
            return _File(changed, _decode(path))
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            return _File((0, 0, 0), None, f"expected a CDI file ({error})")


def require_distinct(info: claim_infos.ClaimInfo) -> None:
    """Raise PreparationError if a kubelet has noted a device of a claim twice."""
    for driver, devices in info.prepared.items():
        named = [(one.pool, one.device, one.share_id, one.request_names) for one in devices]
        for one in named:
            if named.count(one) > 1:
                raise _error(
                    f"device {driver}/{one[0]}/{one[1]} of claim {info.name} is there twice, "
                    f"and so are its CDI devices"
                )


def _decode(path: str) -> _Spec:
    content = regular_files.content(pathlib.Path(path))
    if path.endswith(".json"):
        return _specs.decode(content)
    import yaml  # takes 40 ms, and our own driver writes JSON

    try:
        document: Any = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return msgspec.convert(document, _Spec)


def _is_spec(path: pathlib.Path) -> bool:
    return path.suffix in _SUFFIXES and not path.name.startswith(".")


def _error(message: str) -> preparations.PreparationError:
    return preparations.PreparationError("CreateContainerError", message)
