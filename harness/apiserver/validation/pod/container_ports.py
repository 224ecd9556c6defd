"""Ports of containers, host ports, and port references of probes."""

from collections.abc import Iterator, Sequence

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

PROTOCOLS = ("SCTP", "TCP", "UDP")


def of_container(ports: list[Document], at: str) -> Iterator[Cause]:
    """Validate the ports of one container; names are unique."""
    seen: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{at}[{index}]"
        yield from _name(port.get("name") or "", f"{where}.name", seen)
        if not (number := port.get("containerPort")):
            yield field_errors.required(f"{where}.containerPort")
        yield from field_rules.in_range(
            number or None, f"{where}.containerPort", 1, field_rules.PORT_MAX
        )
        host_port = port.get("hostPort") or None
        yield from field_rules.in_range(host_port, f"{where}.hostPort", 1, field_rules.PORT_MAX)
        yield from field_rules.required_enum_field(port, where, "protocol", PROTOCOLS, "")


def host_port_conflicts(containers: Sequence[Document], at: str) -> Iterator[Cause]:
    """Reject host ports that containers of the pod use more than once."""
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in seen:
                yield field_errors.duplicate(f"{at}[{index}].ports[{position}].hostPort", key)
            seen.add(key)


def host_network_ports(containers: Sequence[Document], at: str) -> Iterator[Cause]:
    """Require host ports to equal container ports, for pods with `hostNetwork`."""
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort") or 0
            if host_port != (port.get("containerPort") or 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                yield field_errors.invalid(
                    f"{at}[{index}].ports[{position}].hostPort", host_port, why
                )


def port_reference(port: int | str, at: str) -> Iterator[Cause]:
    """Validate a reference to a port by number or name (`IntOrString`)."""
    if isinstance(port, str):
        yield from formats.check(at, port, formats.port_name)
    else:
        yield from field_rules.in_range(port, at, 1, field_rules.PORT_MAX)


def _name(name: str, at: str, seen: set[str]) -> Iterator[Cause]:
    if not name:
        return
    problems = formats.check(at, name, formats.port_name)
    yield from problems
    if not problems and name in seen:
        yield field_errors.duplicate(at, name)
    seen.add(name)
