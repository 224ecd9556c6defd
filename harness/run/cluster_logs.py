"""Fetches the log of a kube-scheduler that runs in the cluster as a pod, at the end of a run."""

import pathlib
import urllib.parse

import msgspec

from harness import clocks
from harness.client import apis, transports

NAMESPACE = "kube-system"
SELECTOR = "component=kube-scheduler"
"""Label of kube-scheduler's static pods in clusters made by kubeadm, and therefore by kind."""
TIMEOUT_S = 60.0


def fetch(transport: transports.Transport, into: pathlib.Path, *, since_wall_ns: int) -> None:
    """Write the logs of kube-scheduler's pods into a file, or why they cannot be read."""
    try:
        since = urllib.parse.urlencode({"sinceTime": clocks.wall_text(since_wall_ns)})
        paths = [apis.PODS.path(NAMESPACE, pod, "log") for pod in _pods(transport)]
        parts = [_get(transport, f"{path}?{since}") for path in paths]
        text = b"".join(parts) or f"(no pod of {NAMESPACE} has the label {SELECTOR})\n".encode()
    except (apis.ApiError, transports.TransportError) as error:
        text = f"(the log could not be read: {error})\n".encode()
    into.write_bytes(text)


def _pods(transport: transports.Transport) -> list[str]:
    query = urllib.parse.urlencode({"labelSelector": SELECTOR})
    body = _get(transport, f"{apis.PODS.path(NAMESPACE)}?{query}")
    return [item["metadata"]["name"] for item in msgspec.json.decode(body)["items"]]


def _get(transport: transports.Transport, path: str) -> bytes:
    request = transports.Request(method="GET", path=path, timeout_s=TIMEOUT_S)
    response = transport.send(request)
    if response.status >= 400:
        raise apis.to_error(response.status, response.body)
    return response.body
