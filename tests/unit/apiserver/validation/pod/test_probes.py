"""Probes and lifecycle hooks."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import probes

Document = dict[str, Any]
HTTP = {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}}


def liveness(**fields: Any) -> Document:
    return {"livenessProbe": HTTP | fields}


CASES = [
    (liveness(successThreshold=1), []),
    ({"livenessProbe": {}}, [("c.livenessProbe", "Required")]),
    (liveness(tcpSocket={"port": 1}), [("c.livenessProbe.tcpSocket", "Forbidden")]),
    (liveness(periodSeconds=-1), [("c.livenessProbe.periodSeconds", "Invalid")]),
    (liveness(successThreshold=2), [("c.livenessProbe.successThreshold", "Invalid")]),
    ({"readinessProbe": HTTP | {"successThreshold": 2}}, []),
    (
        {"readinessProbe": HTTP | {"terminationGracePeriodSeconds": 5}},
        [("c.readinessProbe.terminationGracePeriodSeconds", "Invalid")],
    ),
    ({"startupProbe": {"exec": {}}}, [("c.startupProbe.exec.command", "Required")]),
    ({"startupProbe": {"grpc": {"port": 0}}}, [("c.startupProbe.grpc.port", "Invalid")]),
    (
        {"startupProbe": {"tcpSocket": {"port": "80"}}},
        [("c.startupProbe.tcpSocket.port", "Invalid")],
    ),
    (
        {"startupProbe": {"httpGet": {"path": "/", "port": 1, "scheme": "x"}}},
        [("c.startupProbe.httpGet.scheme", "NotSupported")],
    ),
    (
        {"startupProbe": {"httpGet": {"path": "/", "port": 1, "httpHeaders": [{"name": "a b"}]}}},
        [("c.startupProbe.httpGet.httpHeaders", "Invalid")],
    ),
    ({"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}, []),
    (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 6}}}},
        [("c.lifecycle.preStop.sleep", "Invalid")],
    ),
    ({"lifecycle": {"postStart": {}}}, [("c.lifecycle.postStart", "Required")]),
]


@pytest.mark.parametrize(("container", "wrong"), CASES)
def test_probes(fields: Any, container: Document, wrong: list[Any]) -> None:
    assert fields(probes.of_container(container, "c", 5)) == wrong


def test_init_containers_have_none(fields: Any) -> None:
    container = liveness() | {"lifecycle": {}}
    wrong = [("c.lifecycle", "Forbidden"), ("c.livenessProbe", "Forbidden")]
    assert fields(probes.of_init_container(container, "c")) == wrong
