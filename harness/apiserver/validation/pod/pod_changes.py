"""The subresources `ephemeralcontainers` and `resize` of pods."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import qos
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules
from harness.apiserver.validation.pod import containers, pod_spec

_COMPUTE = ("cpu", "memory")
_MIRROR = "kubernetes.io/config.mirror"


def ephemeral_containers(document: Document, old: Document) -> Iterator[Cause]:
    """Validate added ephemeral containers; existing ones are immutable."""
    spec, before = document["spec"], old["spec"]
    yield from pod_spec.spec_of(document)
    yield from containers.ephemeral_containers(spec)
    if _MIRROR in (old["metadata"].get("annotations") or ()):
        yield field_errors.forbidden("", "static pods do not support ephemeral containers")
        return
    current = {item.get("name"): item for item in spec.get("ephemeralContainers") or ()}
    for item in before.get("ephemeralContainers") or ():
        name, at = item.get("name"), "spec.ephemeralContainers"
        if name not in current:
            yield field_errors.forbidden(
                at, f'existing ephemeral containers "{name}" may not be removed\n'
            )
        elif not field_rules.semantically_equal(item, current[name]):
            yield field_errors.forbidden(
                at, f'existing ephemeral containers "{name}" may not be changed\n'
            )


def resize(document: Document, old: Document) -> Iterator[Cause]:
    """Validate a resize: only cpu and memory change, and the QoS class stays the same."""
    spec, before = document["spec"], old["spec"]
    yield from pod_spec.spec_of(document)
    if _MIRROR in (old["metadata"].get("annotations") or ()):
        yield field_errors.forbidden("", "static pods cannot be resized")
        return
    status = old.get("status") or {}
    if (status.get("qosClass") or qos.of(before)) != qos.of(spec):
        why = "Pod QOS Class may not change as a result of resizing"
        yield field_errors.invalid("spec", status.get("qosClass") or "", why)
    if not _can_be_resized(status):
        yield field_errors.forbidden("spec", "Pod running on node without support for resize")
    for index, (new, known) in enumerate(
        zip(spec["containers"], before["containers"], strict=True)
    ):
        yield from _container(new, known, f"spec.containers[{index}].resources")
    yield from _init_containers(spec, before)


def _can_be_resized(status: Document) -> bool:
    """Return whether the kubelet supports resizing.

    It does if the first running container has `resources` in its status, or if none runs.
    """
    for item in status.get("containerStatuses") or ():
        if (item.get("state") or {}).get("running") is not None:
            return item.get("resources") is not None
    return True


def _container(new: Document, old: Document, at: str) -> Iterator[Cause]:
    resources, before = new.get("resources") or {}, old.get("resources") or {}
    for key in ("requests", "limits"):
        if set(before.get(key) or ()) - set(resources.get(key) or ()):
            yield field_errors.forbidden(f"{at}.{key}", f"resource {key} cannot be removed")
        if _without_compute(resources.get(key)) != _without_compute(before.get(key)):
            yield field_errors.forbidden("spec", "only cpu and memory resources are mutable")


def _without_compute(amounts: Document | None) -> Document:
    return {key: value for key, value in (amounts or {}).items() if key not in _COMPUTE}


def _init_containers(spec: Document, before: Document) -> Iterator[Cause]:
    pairs = zip(spec.get("initContainers") or (), before.get("initContainers") or (), strict=True)
    for index, (new, old) in enumerate(pairs):
        if old.get("restartPolicy") == "Always":
            yield from _container(new, old, f"spec.initContainers[{index}].resources")
        elif not field_rules.semantically_equal(new, old):
            why = "resources for non-sidecar init containers are immutable"
            yield field_errors.forbidden("spec", why)
