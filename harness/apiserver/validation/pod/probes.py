"""Probes and lifecycle hooks of containers."""

from collections.abc import Callable, Iterable, Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats
from harness.apiserver.validation.pod import container_ports

Rule = Callable[[Document, str], Iterable[Cause]]
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_NUMBERS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_SCHEMES = ("HTTP", "HTTPS")


def of_container(container: Document, at: str, grace_s: int | None) -> Iterator[Cause]:
    """Validate lifecycle hooks and probes of a container or sidecar."""
    for key in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(key)
        if handler is not None:
            yield from _handler(handler, f"{at}.lifecycle.{key}", (*_ACTIONS, "sleep"))
            yield from _sleep(handler.get("sleep"), f"{at}.lifecycle.{key}.sleep", grace_s)
    for key in PROBES:
        if (probe := container.get(key)) is not None:
            yield from _probe(probe, f"{at}.{key}", key)


def of_init_container(container: Document, at: str) -> Iterator[Cause]:
    """Reject lifecycle hooks and probes on an init container that is not a sidecar."""
    for key in ("lifecycle", *PROBES):
        if container.get(key) is not None:
            why = "may not be set for init containers without restartPolicy=Always"
            yield field_errors.forbidden(f"{at}.{key}", why)


def _probe(probe: Document, at: str, kind: str) -> Iterator[Cause]:
    yield from _handler(probe, at, (*_ACTIONS, "grpc"))
    for key in _NUMBERS:
        if (number := probe.get(key) or 0) < 0:
            yield field_errors.invalid(f"{at}.{key}", number, "must be greater than or equal to 0")
    grace_s = probe.get("terminationGracePeriodSeconds")
    if grace_s is not None and grace_s <= 0:
        why = "must be greater than 0"
        yield field_errors.invalid(f"{at}.terminationGracePeriodSeconds", grace_s, why)
    if kind != "readinessProbe":
        if (threshold := probe.get("successThreshold", 1)) != 1:
            yield field_errors.invalid(f"{at}.successThreshold", threshold, "must be 1")
    elif grace_s is not None:
        why = "must not be set for readinessProbes"
        yield field_errors.invalid(f"{at}.terminationGracePeriodSeconds", grace_s, why)


def _handler(handler: Document, at: str, kinds: tuple[str, ...]) -> Iterator[Cause]:
    actions = [kind for kind in kinds if handler.get(kind) is not None]
    if not actions:
        yield field_errors.required(at, "must specify a handler type")
    for kind in actions[:1]:
        if (rule := _RULES.get(kind)) is not None:
            yield from rule(handler[kind], f"{at}.{kind}")
    yield from field_rules.at_most_one(handler, at, kinds, "handler")


def _exec(action: Document, at: str) -> Iterator[Cause]:
    yield from field_rules.required(action, at, "command")


def _http(action: Document, at: str) -> Iterator[Cause]:
    yield from field_rules.required(action, at, "path")
    yield from container_ports.port_reference(action.get("port", 0), f"{at}.port")
    yield from field_rules.enum_field(action, at, "scheme", _SCHEMES)
    for header in action.get("httpHeaders") or ():
        yield from formats.check(
            f"{at}.httpHeaders", header.get("name") or "", formats.http_header_name
        )


def _port_action(action: Document, at: str) -> Iterator[Cause]:
    yield from container_ports.port_reference(action.get("port", 0), f"{at}.port")


def _sleep(action: Document | None, at: str, grace_s: int | None) -> Iterator[Cause]:
    seconds = (action or {}).get("seconds") or 0
    if action is not None and grace_s is not None and not 0 <= seconds <= grace_s:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_s})"
        yield field_errors.invalid(at, seconds, why)


_RULES: dict[str, Rule] = {
    "exec": _exec,
    "httpGet": _http,
    "tcpSocket": _port_action,
    "grpc": _port_action,
}
_ACTIONS = ("exec", "httpGet", "tcpSocket")
