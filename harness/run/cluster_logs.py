"""The log of a scheduler that runs in the cluster as a pod: fetched at the end of a run, as far as we may."""

import pathlib
import urllib.parse

import msgspec

from harness import clocks
from harness.client import apis, transports

NAMESPACE = "kube-system"
SELECTOR = "component=kube-scheduler"
"""What kubeadm, and so kind, label it with."""
TIMEOUT_S = 60.0


def fetch(transport: transports.Transport, into: pathlib.Path, *, since_wall_ns: int) -> None:
    """Write what kube-scheduler's pods have logged since then; when that cannot be had, why not."""
    try:
        parts = [_log(transport, pod, since_wall_ns) for pod in _pods(transport)]
        text = b"".join(parts) or f"(no pod of {NAMESPACE} has the label {SELECTOR})\n".encode()
    except (apis.ApiError, transports.TransportError) as error:
        text = f"(the log could not be read: {error})\n".encode()
    into.write_bytes(text)


def _pods(transport: transports.Transport) -> list[str]:
    query = urllib.parse.urlencode({"labelSelector": SELECTOR})
    body = _get(transport, f"{apis.PODS.path(NAMESPACE)}?{query}")
    return [item["metadata"]["name"] for item in msgspec.json.decode(body)["items"]]


def _log(transport: transports.Transport, pod: str, since_wall_ns: int) -> bytes:
    query = urllib.parse.urlencode({"sinceTime": clocks.wall_text(since_wall_ns)})
    return _get(transport, f"{apis.PODS.path(NAMESPACE, pod, 'log')}?{query}")


def _get(transport: transports.Transport, path: str) -> bytes:
    request = transports.Request(method="GET", path=path, timeout_s=TIMEOUT_S)
    response = transport.send(request)
    if response.status >= 400:
        raise apis.to_error(response.status, response.body)
    return response.body
