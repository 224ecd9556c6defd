"""Volumes of pods: names and sources."""

from collections.abc import Callable, Iterable, Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import quantities
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import dra_names
from harness.apiserver.validation.field import field_rules, formats
from harness.apiserver.validation.pod import projected_volumes

Rule = Callable[[Document, str], Iterable[Cause]]
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def all_volumes(volumes: list[Document], at: str) -> Iterator[Cause]:
    """Validate volumes; the names of valid ones are unique."""
    known: set[str] = set()
    for index, volume in enumerate(volumes):
        causes = list(_volume(volume, f"{at}[{index}]"))
        if (name := volume.get("name") or "") in known:
            causes.append(field_errors.duplicate(f"{at}[{index}].name", name))
        if not causes:
            known.add(name)
        yield from causes


def valid_by_name(volumes: list[Document]) -> dict[str, Document]:
    """Return the valid volumes by name; mounts of other volumes fail as not found."""
    return {
        volume.get("name") or "": volume
        for index, volume in enumerate(volumes)
        if not any(_volume(volume, f"[{index}]"))
    }


def _volume(volume: Document, at: str) -> Iterator[Cause]:
    kinds = [kind for kind in _SOURCES if volume.get(kind) is not None]
    if not kinds:
        yield field_errors.required(at, "must specify a volume type")
    for kind in kinds[:1]:
        yield from _SOURCES[kind](volume[kind], f"{at}.{kind}")
    yield from field_rules.at_most_one(volume, at, tuple(_SOURCES), "volume")
    yield from formats.check_required(f"{at}.name", volume.get("name"), formats.label)


def _requires(*keys: str) -> Rule:
    """Return a rule that requires these fields of a volume source."""
    return lambda source, at: field_rules.required(source, at, *keys)


def _empty(source: Document, at: str) -> Iterator[Cause]:
    size = source.get("sizeLimit")
    if size is not None and quantities.parse(str(size)).amount < 0:
        why = "SizeLimit field must be a valid resource quantity"
        yield field_errors.forbidden(f"{at}.sizeLimit", why)


def _host_path(source: Document, at: str) -> Iterator[Cause]:
    if not (path := source.get("path")):
        yield field_errors.required(f"{at}.path")
        return
    yield from formats.check(f"{at}.path", path, formats.path_without_backsteps)
    yield from field_rules.enum_field(source, at, "type", _HOST_PATH_TYPES)


def _git_repository(source: Document, at: str) -> Iterator[Cause]:
    yield from field_rules.required(source, at, "repository")
    yield from formats.check(
        f"{at}.directory", source.get("directory") or "", formats.descending_path
    )


def _nfs(source: Document, at: str) -> Iterator[Cause]:
    yield from field_rules.required(source, at, "server", "path")
    if not (path := source.get("path") or "").startswith("/"):
        yield field_errors.invalid(f"{at}.path", path, "must be an absolute path")


def _csi(source: Document, at: str) -> Iterator[Cause]:
    driver = source.get("driver") or ""
    yield from field_rules.required(source, at, "driver")
    if len(driver) > dra_names.DRIVER_BYTES_MAX:
        yield field_errors.too_long(f"{at}.driver", dra_names.DRIVER_BYTES_MAX)
    for why in formats.subdomain(driver.lower()):
        yield field_errors.invalid(f"{at}.driver", driver, why)
    if (secret := source.get("nodePublishSecretRef")) is None:
        return
    if not (name := secret.get("name") or ""):
        yield field_errors.required(f"{at}.nodePublishSecretRef.name")
    else:
        yield from formats.check(f"{at}.name", name, formats.subdomain)


def _image(source: Document, at: str) -> Iterator[Cause]:
    yield from field_rules.required(source, at, "reference")
    yield from field_rules.enum_field(source, at, "pullPolicy", field_rules.PULL_POLICIES)


_SOURCES: dict[str, Rule] = {
    "emptyDir": _empty,
    "hostPath": _host_path,
    "gitRepo": _git_repository,
    "gcePersistentDisk": _requires("pdName"),
    "awsElasticBlockStore": _requires("volumeID"),
    "secret": projected_volumes.secret,
    "nfs": _nfs,
    "iscsi": _requires("targetPortal", "iqn"),
    "glusterfs": _requires("endpoints", "path"),
    "flocker": _requires(),
    "persistentVolumeClaim": _requires("claimName"),
    "rbd": _requires("monitors", "image"),
    "cinder": _requires("volumeID"),
    "cephfs": _requires("monitors"),
    "quobyte": _requires("registry", "volume"),
    "downwardAPI": projected_volumes.downward_api,
    "fc": _requires(),
    "flexVolume": _requires("driver"),
    "configMap": projected_volumes.config_map,
    "azureFile": _requires("secretName", "shareName"),
    "vsphereVolume": _requires("volumePath"),
    "photonPersistentDisk": _requires("pdID"),
    "portworxVolume": _requires("volumeID"),
    "azureDisk": _requires("diskName", "diskURI"),
    "storageos": _requires("volumeName"),
    "projected": projected_volumes.projected,
    "scaleIO": _requires("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _requires("volumeClaimTemplate"),
    "image": _image,
}
"""The rules of volume sources, in the order of kube-apiserver."""
