"""Ports: of containers, on hosts, and where probes knock."""

from collections.abc import Iterator, Sequence

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

PROTOCOLS = ("SCTP", "TCP", "UDP")


def of_container(ports: list[Document], at: str) -> Iterator[Cause]:
    """The ports of one container; no name twice."""
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
    """No port of the host twice."""
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
    """In the host's network, a port of the container is a port of the host."""
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort") or 0
            if host_port != (port.get("containerPort") or 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                yield field_errors.invalid(
                    f"{at}[{index}].ports[{position}].hostPort", host_port, why
                )


def port_reference(port: int | str, at: str) -> Iterator[Cause]:
    """A port by its number or its name."""
    if isinstance(port, str):
        yield from formats.check(at, port, formats.port_name)
    else:
        yield from field_rules.in_range(port, at, 1, field_rules.PORT_MAX)


def _name(name: str, at: str, seen: set[str]) -> Iterator[Cause]:
    if not name:
        return
    found = formats.check(at, name, formats.port_name)
    yield from found
    if not found and name in seen:
        yield field_errors.duplicate(at, name)
    seen.add(name)
