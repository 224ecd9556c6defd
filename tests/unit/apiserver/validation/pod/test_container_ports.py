"""Ports of containers and hosts."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import container_ports

Document = dict[str, Any]
PORT: Document = {"name": "http", "containerPort": 80, "protocol": "TCP"}
CASES = [
    ([PORT, {"containerPort": 81, "protocol": "UDP"}], []),
    ([PORT, PORT], [("p[1].name", "Duplicate")]),
    ([PORT | {"name": "a--b"}], [("p[0].name", "Invalid")]),
    ([PORT | {"name": "80"}], [("p[0].name", "Invalid")]),
    ([PORT | {"name": "a" * 16}], [("p[0].name", "Invalid")]),
    ([PORT | {"containerPort": 0}], [("p[0].containerPort", "Required")]),
    ([PORT | {"containerPort": 65536}], [("p[0].containerPort", "Invalid")]),
    ([PORT | {"hostPort": -1}], [("p[0].hostPort", "Invalid")]),
    ([PORT | {"protocol": ""}], [("p[0].protocol", "Required")]),
    ([PORT | {"protocol": "x"}], [("p[0].protocol", "NotSupported")]),
]


@pytest.mark.parametrize(("found", "wrong"), CASES)
def test_ports(fields: Any, found: list[Document], wrong: list[Any]) -> None:
    assert fields(container_ports.of_container(found, "p")) == wrong


def test_a_port_of_the_host_is_taken_once(fields: Any) -> None:
    container = {"ports": [PORT | {"hostPort": 80}]}
    wrong = [("c[1].ports[0].hostPort", "Duplicate")]
    assert fields(container_ports.host_port_conflicts([container, container], "c")) == wrong


def test_in_the_network_of_the_host_ports_are_equal(fields: Any) -> None:
    wrong = [("c[0].ports[0].hostPort", "Invalid")]
    assert (
        fields(container_ports.host_network_ports([{"ports": [PORT | {"hostPort": 81}]}], "c"))
        == wrong
    )
