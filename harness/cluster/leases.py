"""The leases by which kubelets say that their nodes are alive."""

import contextlib

from harness import clocks
from harness.client import apis, transports
from harness.model import naming

NAMESPACE = "kube-node-lease"
INTERVAL_S = 10.0
DURATION_S = 40


def remove(api: apis.Api, run_id: str) -> None:
    """Remove the leases of a run's nodes."""
    selector = f"{naming.RUN_LABEL}={run_id}"
    for lease in api.list(apis.LEASES, namespace=NAMESPACE, label_selector=selector).items:
        with apis.if_there():
            api.delete(apis.LEASES, lease["metadata"]["name"], namespace=NAMESPACE)


def renew(api: apis.Api, node: str, *, run_id: str) -> None:
    """Renew a node's lease, or make it; what cannot be done now is done the next time."""
    spec = {
        "holderIdentity": node,
        "leaseDurationSeconds": DURATION_S,
        "renewTime": clocks.wall_text().replace("Z", ".000000Z"),
    }
    labels = {naming.RUN_LABEL: run_id} if run_id else {}
    meta = {"name": node, "namespace": NAMESPACE, "labels": labels}
    lease = {"metadata": meta, "spec": spec}
    with contextlib.suppress(apis.ApiError, transports.TransportError):
        try:
            api.patch(apis.LEASES, node, {"spec": spec}, namespace=NAMESPACE)
        except apis.ApiError as error:
            if error.is_not_found:
                api.create(apis.LEASES, lease, namespace=NAMESPACE)
