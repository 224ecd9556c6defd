"""Fetches the log of a kube-scheduler that runs in the cluster as a pod, at the end of a run."""

import pathlib
import urllib.parse

import msgspec

from harness import clocks
from harness.client import apis, transports

NAMESPACE = "kube-system"
"""Namespace of the control plane's pods."""
SELECTOR = "component=kube-scheduler"
"""Label of kube-scheduler's static pods in clusters made by kubeadm, and therefore by kind."""
TIMEOUT_S = 60.0
"""Time limit for each API call, in seconds."""


def fetch(transport: transports.Transport, into: pathlib.Path, *, since_wall_ns: int) -> None:
    """Write the logs of kube-scheduler's pods since a point in time into a file.

    If they cannot be read (the credentials may not allow it), the file gives the reason.
    """
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
