"""The environments of the containers of a pod, from the CDI files of its claims.

As the kubelet and a container runtime do together: the kubelet names the CDI devices of the
requests that a container lists in `resources.claims`, and of those to which the pod's status maps
the extended resources that it requests; the runtime reads their files.
"""

import pathlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from harness import regular_files
from harness.cluster.dra import claim_infos, pod_claims
from harness.model.objects import Object


class _Edits(msgspec.Struct):
    env: list[str] = []


class _Device(msgspec.Struct):
    name: str
    containerEdits: _Edits  # noqa: N815 - the CDI specification's spelling


class _File(msgspec.Struct):
    devices: list[_Device]


_files = msgspec.json.Decoder(_File)


def environments(
    pod: Object, infos: Iterable[claim_infos.ClaimInfo], folder: pathlib.Path
) -> dict[str, dict[str, str]]:
    """Return container -> its environment, of the containers of a pod that use claims.

    `infos` are the prepared claims of the pod, and `folder` has the CDI files of its node. Raises
    PreparationError if one cannot be read.
    """
    by_name = {info.name: info for info in infos}
    by_entry = {entry: by_name[name] for entry, name in pod_claims.by_entry(pod) if name in by_name}
    found = {
        container["name"]: dict(
            _variables([*_listed(container, by_entry), *_mapped(container, pod, by_name)], folder)
        )
        for container in pod["spec"].get("containers") or ()
    }
    return {name: environment for name, environment in found.items() if environment}


def _listed(
    container: Object, by_entry: Mapping[str, claim_infos.ClaimInfo]
) -> Iterator[tuple[claim_infos.ClaimInfo, str]]:
    """Yield the claims that a container lists, with the request that it uses; `*`: all of them."""
    for used in (container.get("resources") or {}).get("claims") or ():
        if (info := by_entry.get(used["name"])) is not None:
            yield info, used.get("request") or "*"


def _mapped(
    container: Object, pod: Object, by_name: Mapping[str, claim_infos.ClaimInfo]
) -> Iterator[tuple[claim_infos.ClaimInfo, str]]:
    """Yield the claim for extended resources with each request that a container uses of it."""
    requested = (container.get("resources") or {}).get("requests") or {}
    for name, mapping in pod_claims.extended_mappings(pod):
        is_used = mapping["containerName"] == container["name"]
        if is_used and mapping["resourceName"] in requested and name in by_name:
            yield by_name[name], mapping["requestName"]


def _variables(
    used: Iterable[tuple[claim_infos.ClaimInfo, str]], folder: pathlib.Path
) -> Iterator[tuple[str, str]]:
    """Yield the variables of requests of claims."""
    for info, request in used:
        for path in sorted(folder.glob(f"*-{info.uid}-{request}.json")):
            for device in _read(path).devices:
                for variable in device.containerEdits.env:
                    name, _, value = variable.partition("=")
                    yield name, value


def _read(path: pathlib.Path) -> _File:
    try:
        return _files.decode(regular_files.content(path))
    except (OSError, msgspec.DecodeError) as error:
        raise claim_infos.PreparationError(
            "CreateContainerError", f"{path}: expected a CDI file ({error})"
        ) from error
