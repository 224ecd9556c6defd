"""CDI devices by their ids, as a container runtime finds them in the folder of a node.

A spec file says which devices it has, and how each of them edits a container. Of the edits only the
environment is read: containers of fake nodes have nothing else. A file that cannot be read has no
devices, so that only containers that need one of them are not started.
"""

import contextlib
import os
import pathlib
from collections.abc import Iterable
from typing import Any, NamedTuple

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


class _File(NamedTuple):
    """A file as it was read."""

    changed: tuple[int, int, int]
    """inode, time of the last change in ns, and size."""
    ids: frozenset[str] = frozenset()
    """The ids of its devices."""
    problem: str = ""
    """Why there are none."""


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
        self._devices: dict[str, dict[str, tuple[_Edits, _Edits]]] = {}
        """Id of a device -> the files that have it, with the edits of file and device."""

    def environment(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the environment that these devices give a container, a later one winning.

        Raises PreparationError for an id that no file has, or several have.
        """
        wanted = list(dict.fromkeys(ids))
        with self._guard:
            names: list[str] = []
            with contextlib.suppress(OSError):
                names = os.listdir(self._folder)  # noqa: PTH208 - for each pod
            there = {one for one in names if one.endswith(_SUFFIXES) and not one.startswith(".")}
            changed = there ^ self._files.keys()  # new, or gone
            for name in changed:
                self._read(name)
            known = [self._devices.get(one, {}) for one in wanted]
            for name in (set[str]().union(*known) if all(known) else {*self._files}) - changed:
                self._read(name)
            variables: list[str] = []
            used: set[str] = set()
            for one in wanted:
                name, (of_file, of_device) = self._find(one)
                if name not in used:  # those of the file itself come once
                    variables += of_file.env
                used.add(name)
                variables += of_device.env
        parts = [variable.partition("=") for variable in variables]
        return {name: value for name, _, value in parts}

    def _find(self, wanted: str) -> tuple[str, tuple[_Edits, _Edits]]:
        found = sorted(self._devices.get(wanted, {}))
        if len(found) == 1:
            return found[0], self._devices[wanted][found[0]]
        if found:
            paths = [str(self._folder / name) for name in found[:2]]
            raise _error(f"CDI device {wanted} is in {' and '.join(paths)}")
        broken = [(name, file) for name, file in sorted(self._files.items()) if file.problem]
        why = f"no file in {self._folder} has it"
        if broken:
            why = f"{self._folder / broken[0][0]}: {broken[0][1].problem}"
        raise _error(f"unresolvable CDI device {wanted}: {why}")

    def _read(self, name: str) -> None:
        path, known = f"{self._folder}/{name}", self._files.get(name)
        try:
            state = os.stat(path)  # noqa: PTH116 - for each claim
            changed = state.st_ino, state.st_mtime_ns, state.st_size
            if known is not None and known.changed == changed:
                return
            spec = _decode(path)
        except FileNotFoundError:
            self._forget(name)
            return
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            self._forget(name)
            self._files[name] = _File((0, 0, 0), problem=f"expected a CDI file ({error})")
            return
        self._forget(name)
        devices = {f"{spec.kind}={device.name}": device for device in spec.devices}
        self._files[name] = _File(changed, frozenset(devices))
        for one, device in devices.items():
            edits = spec.container_edits, device.container_edits
            self._devices.setdefault(one, {})[name] = edits

    def _forget(self, name: str) -> None:
        known = self._files.pop(name, None)
        for one in known.ids if known is not None else ():
            del self._devices[one][name]
            if not self._devices[one]:
                del self._devices[one]


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


def _error(message: str) -> preparations.PreparationError:
    return preparations.PreparationError("CreateContainerError", message)
