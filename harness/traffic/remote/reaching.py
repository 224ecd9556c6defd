"""Can a remote worker reach what it needs: the master's address and the run's API server?"""

import pathlib
import socket
import urllib.parse

import msgspec

from harness import clocks, errors
from harness.client import transports
from harness.history import plans
from harness.model import naming

_CONNECT_TIMEOUT_S = 3.0
_NAME_WAIT_S = 0.5
_REQUEST_TIMEOUT_S = 10.0
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _OK = 401, 403, 404, 200


class _Meta(msgspec.Struct):
    labels: dict[str, str] = {}


class _Namespace(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


def master_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT` or `[IPV6]:PORT`. Raises UsageError if it is neither."""
    parts = urllib.parse.urlsplit(f"//{text}")
    try:
        host, port = parts.hostname or "", parts.port or 0
    except ValueError:
        host, port = "", 0
    if not host or not port or parts.path or parts.username:
        raise errors.UsageError(
            f"--master: expected HOST:PORT, such as 10.0.0.5:5557, got {text!r:.60}"
        )
    return host, port


def wait_for_name(host: str, *, timeout_s: float) -> None:
    """Wait until a host has an address: that of a Kubernetes Service comes with its pod.

    Raises UsageError after the timeout.
    """
    deadline_ns = clocks.monotonic_ns() + int(timeout_s * 1e9)
    while True:
        try:
            socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
        except OSError as error:
            if clocks.monotonic_ns() >= deadline_ns:
                raise errors.UsageError(
                    f"--master: expected a host with an address, got {host!r:.60} ({error.strerror})"
                ) from error
            clocks.sleep(_NAME_WAIT_S)
        else:
            return


def why_silent(host: str, port: int) -> str:
    """Return why a master does not answer, as far as a connection shows."""
    try:
        socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
    except OSError as error:
        return str(error.strerror or error)
    return "something listens there that does not answer"


def require_api_server(kubeconfig: pathlib.Path) -> None:
    """Raise UsageError unless an API server answers at the address of the kubeconfig."""
    answer = _get(kubeconfig, "/version")
    if answer.status in (_UNAUTHORIZED, _FORBIDDEN):
        raise errors.UsageError(
            f"{kubeconfig}: expected credentials that the API server accepts, got status "
            f"{answer.status}: take the kubeconfig of the run's cluster"
        )


def require_cluster_of(plan: plans.Plan, kubeconfig: pathlib.Path) -> None:
    """Raise UsageError unless the kubeconfig reaches the cluster of the run."""
    answer = _get(kubeconfig, f"/api/v1/namespaces/{plan.namespace}")
    found = _NOT_FOUND if answer.status == _OK and _run_of(answer) != plan.run_id else answer.status
    if found != _OK:
        raise errors.UsageError(
            f"{kubeconfig}: expected the cluster of run {plan.run_id}, got one whose namespace "
            f"{plan.namespace} cannot be read (status {found}): take the kubeconfig of the run's "
            "cluster"
        )


def _run_of(answer: transports.Response) -> str:
    try:
        labels = msgspec.json.decode(answer.body, type=_Namespace).metadata.labels
    except msgspec.DecodeError:
        return ""
    return labels.get(naming.RUN_LABEL, "")


def _get(kubeconfig: pathlib.Path, path: str) -> transports.Response:
    transport = transports.connect(kubeconfig)
    try:
        request = transports.Request(method="GET", path=path, timeout_s=_REQUEST_TIMEOUT_S)
        return transport.send(request)
    except transports.TransportError as error:
        raise errors.UsageError(
            f"{kubeconfig}: expected its API server to answer, got nothing ({error}): this host "
            "needs a kubeconfig whose server it can reach"
        ) from error
    finally:
        transport.close()
