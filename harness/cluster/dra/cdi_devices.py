"""CDI devices by their ids, as a container runtime finds them in the folder of a node.

A spec file says which devices it has, and how each of them edits a container. Of the edits only the
environment is read: containers of fake nodes have nothing else. A file that cannot be read has no
devices, so that only containers that need one of them are not started.
"""

import os
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

    @property
    def ids(self) -> set[str]:
        """The ids of its devices."""
        spec = self.spec
        return {f"{spec.kind}={device.name}" for device in spec.devices} if spec else set()


class CdiFolder:
    """The CDI folder of a node. Thread-safe; a file is read again when it has changed.

    Of a device that was found before, only its own files are looked at again: a node with a
    thousand claims has a thousand files.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._guard = concurrency.lock("kubelet.cdi")
        self._files: dict[str, _File] = {}
        """The files, by name."""
        self._holders: dict[str, set[str]] = {}
        """Id of a device -> the files that have it."""

    def environment(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the environment that these devices give a container, a later one winning.

        Raises PreparationError for an id that no file has, or several have.
        """
        wanted = list(dict.fromkeys(ids))
        with self._guard:
            names = self._names()
            for name in self._files.keys() - names:
                self._forget(name)
            new = {name for name in names - self._files.keys() if _is_spec(name)}
            for name in new:
                self._read(name)
            known = [self._holders.get(one, set()) for one in wanted]
            for name in (set().union(*known) if all(known) else {*self._files}) - new:
                self._read(name)
            return self._environment(wanted)

    def _environment(self, ids: Sequence[str]) -> dict[str, str]:
        edits: list[_Edits] = []
        used: set[str] = set()
        for wanted in ids:
            name, spec, device = self._find(wanted)
            if name not in used:  # those of the file itself come once
                edits.append(spec.container_edits)
            used.add(name)
            edits.append(device.container_edits)
        variables = [variable.partition("=") for edit in edits for variable in edit.env]
        return {name: value for name, _, value in variables}

    def _find(self, wanted: str) -> tuple[str, _Spec, _Device]:
        found = [
            (name, spec, device)
            for name in sorted(self._holders.get(wanted, ()))
            if (spec := self._files[name].spec) is not None
            for device in spec.devices
            if f"{spec.kind}={device.name}" == wanted
        ]
        if len(found) == 1:
            return found[0]
        if found:
            paths = [str(self._folder / name) for name, *_ in found[:2]]
            raise _error(f"CDI device {wanted} is in {' and '.join(paths)}")
        raise _error(f"unresolvable CDI device {wanted}: {self._why()}")

    def _why(self) -> str:
        """Return what may be the reason for a device that is not found."""
        broken = [(name, file) for name, file in sorted(self._files.items()) if file.problem]
        if broken:
            return f"{self._folder / broken[0][0]}: {broken[0][1].problem}"
        return f"no file in {self._folder} has it"

    def _names(self) -> set[str]:
        try:
            return set(os.listdir(self._folder))  # noqa: PTH208 - for each pod
        except OSError:
            return set()

    def _read(self, name: str) -> None:
        path, known = f"{self._folder}/{name}", self._files.get(name)
        try:
            state = os.stat(path)  # noqa: PTH116 - for each claim
            changed = state.st_ino, state.st_mtime_ns, state.st_size
            if known is not None and known.changed == changed:
                return
            file = _File(changed, _decode(path))
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            file = _File((0, 0, 0), None, f"expected a CDI file ({error})")
        if known is not None:
            self._forget(name)
        self._files[name] = file
        for one in file.ids:
            self._holders.setdefault(one, set()).add(name)

    def _forget(self, name: str) -> None:
        for one in self._files.pop(name).ids:
            holders = self._holders[one]
            holders.discard(name)
            if not holders:
                del self._holders[one]


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
    content = regular_files.content(path)
    if path.endswith(".json"):
        return _specs.decode(content)
    import yaml  # takes 40 ms, and our own driver writes JSON

    try:
        document: Any = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return msgspec.convert(document, _Spec)


def _is_spec(name: str) -> bool:
    return name.endswith(_SUFFIXES) and not name.startswith(".")


def _error(message: str) -> preparations.PreparationError:
    return preparations.PreparationError("CreateContainerError", message)
