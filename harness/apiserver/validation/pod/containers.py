"""Containers and init containers: names, images, resources, claims.

Not checked: ports, environment, volume mounts, probes, security contexts.
"""

from collections.abc import Iterator, Sequence

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats, resource_requirements

_ENUMS = {
    "restartPolicy": ("Always", "Never", "OnFailure"),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
}
_UNKNOWN_CLAIM = "must be one of the names in pod.spec.resourceClaims"


def all_containers(spec: Document, claims: Sequence[str]) -> Iterator[Cause]:
    """Validate containers and init containers; names are unique in the pod."""
    if not spec.get("containers"):
        yield field_errors.required("spec.containers")
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or []):
            at, name = f"spec.{key}[{index}]", container.get("name") or ""
            yield from _container(container, at, claims)
            if name in seen:
                yield field_errors.duplicate(f"{at}.name", name)
            seen.add(name)


def _container(container: Document, at: str, claims: Sequence[str]) -> Iterator[Cause]:
    yield from formats.check_required(f"{at}.name", container.get("name"), formats.label)
    yield from field_rules.required(container, at, "image")
    for key, known in _ENUMS.items():
        yield from field_rules.enum_field(container, at, key, known)
    if resources := container.get("resources"):
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        at = f"{at}.resources"
        yield from resource_requirements.of_container(limits, requests, at)
        yield from _claims(resources.get("claims") or [], f"{at}.claims", claims)


def _claims(entries: list[Document], at: str, known: Sequence[str]) -> Iterator[Cause]:
    names = ", ".join(f'"{name}"' for name in sorted(known))
    why = f"{_UNKNOWN_CLAIM}: {names}" if known else f"{_UNKNOWN_CLAIM} which is empty"
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        name, request = entry.get("name") or "", entry.get("request") or ""
        if not name:
            yield field_errors.required(f"{at}[{index}]")
            continue
        key = f"{name}/{request}" if request else name
        if key in seen:
            yield field_errors.duplicate(f"{at}[{index}]", key)
        seen.add(key)
        if name not in known:
            yield field_errors.not_found(f"{at}[{index}]", name, why)
