"""Containers, init containers and ephemeral containers: names, images, resources, claims."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats, resource_requirements
from harness.apiserver.validation.pod import (
    container_ports,
    environment,
    probes,
    security_context,
    volume_mounts,
    volumes,
)

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
_FORBIDDEN = "cannot be set for an Ephemeral Container"
_UNKNOWN_CLAIM = "must be one of the names in pod.spec.resourceClaims"


def all_containers(
    spec: Document, claims: Sequence[str], volumes: Mapping[str, Document]
) -> Iterator[Cause]:
    """Validate containers and init containers; names are unique in the pod."""
    if not spec.get("containers"):
        yield field_errors.required("spec.containers")
    seen: set[str] = set()
    grace_s = spec.get("terminationGracePeriodSeconds")
    for key in ("containers", "initContainers"):
        of_kind = spec.get(key) or []
        for index, container in enumerate(of_kind):
            at, name = f"spec.{key}[{index}]", container.get("name") or ""
            yield from _container(container, at, claims, volumes)
            yield from field_rules.enum_field(container, at, "restartPolicy", RESTART_POLICIES)
            if name in seen:
                yield field_errors.duplicate(f"{at}.name", name)
            seen.add(name)
            yield from _security(container, at, spec)
            if key == "initContainers" and container.get("restartPolicy") != "Always":
                yield from probes.of_init_container(container, at)
            else:
                yield from probes.of_container(container, at, grace_s)
        yield from _host_ports(of_kind, f"spec.{key}", together=key == "containers")


def _host_ports(containers: list[Document], at: str, *, together: bool) -> Iterator[Cause]:
    """Reject host ports that are used twice at the same time; init containers run one by one."""
    if any(container.get("ports") for container in containers):
        for running in [containers] if together else [[container] for container in containers]:
            yield from container_ports.host_port_conflicts(running, at)


def ephemeral_containers(spec: Document) -> Iterator[Cause]:
    """Validate ephemeral containers.

    Names are unique in the pod. Ports, resources, probes and other fields are forbidden.
    """
    at, known = "spec.ephemeralContainers", volumes.valid_by_name(spec.get("volumes") or [])
    names = {
        item.get("name") for key in ("containers", "initContainers") for item in spec.get(key) or ()
    }
    seen = set(names)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        yield from _container(container, f"{at}[{index}]", (), known)
        yield from _security(container, f"{at}[{index}]", spec)
        if (name := container.get("name") or "") in seen:
            yield field_errors.duplicate(f"{at}[{index}].name", name)
        seen.add(name)
        if (target := container.get("targetContainerName")) and target not in names:
            yield field_errors.not_found(f"{at}[{index}].targetContainerName", target)
        for position, mount in enumerate(container.get("volumeMounts") or ()):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    where = f"{at}[{index}].volumeMounts[{position}].{key}"
                    yield field_errors.forbidden(where, _FORBIDDEN)
        for key in _NOT_EPHEMERAL:
            if container.get(key):
                yield field_errors.forbidden(f"{at}[{index}].{key}", _FORBIDDEN)


def _container(
    container: Document, at: str, claims: Sequence[str], volumes: Mapping[str, Document]
) -> Iterator[Cause]:
    yield from formats.check_required(f"{at}.name", container.get("name"), formats.label)
    image = container.get("image") or ""
    if not image:
        yield field_errors.required(f"{at}.image")
    elif image != image.strip():
        why = "must not have leading or trailing whitespace"
        yield field_errors.invalid(f"{at}.image", image, why)
    yield from field_rules.enum_field(container, at, "terminationMessagePolicy", _MESSAGE_POLICIES)
    for key, rule in _PARTS.items():
        if part := container.get(key):
            yield from rule(part, f"{at}.{key}")
    yield from volume_mounts.of_container(container, at, volumes)
    policy = container.get("imagePullPolicy")
    if policy and policy not in field_rules.PULL_POLICIES:
        yield field_errors.unsupported(f"{at}.imagePullPolicy", policy, field_rules.PULL_POLICIES)
    if resources := container.get("resources"):
        yield from _resources(resources, f"{at}.resources", claims)


def _security(container: Document, at: str, spec: Document) -> Iterator[Cause]:
    if context := container.get("securityContext"):
        host_users = spec.get("hostUsers") is not False
        yield from security_context.of_container(
            context, f"{at}.securityContext", host_users=host_users
        )


def _resources(resources: Document, at: str, claims: Sequence[str]) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
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


_PARTS: dict[str, Callable[[Any, str], Iterable[Cause]]] = {
    "ports": container_ports.of_container,
    "env": environment.env,
    "envFrom": environment.env_from,
}
