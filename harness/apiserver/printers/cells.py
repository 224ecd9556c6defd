"""The cells of table rows, for all kinds but pods.

After k8s.io/kubernetes/pkg/printers/internalversion/printers.go.
"""

from collections.abc import Callable
from typing import Any

from harness.apiserver.printers import durations
from harness.apiserver.scheme.json_document import Document

NONE = "<none>"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_ROLE_PREFIX = "node-role.kubernetes.io/"


def value(document: Any, path: str) -> Any:
    """Return the value at a dotted path, None if there is none."""
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def count(path: str) -> Callable[[Document], int]:
    """Count the items of the list at a path."""
    return lambda document: len(value(document, path) or ())


def data_count(document: Document) -> int:
    """Count the keys of a ConfigMap or Secret."""
    return len(document.get("data") or ()) + len(document.get("binaryData") or ())


def phase(document: Document) -> str:
    """Return `status.phase`, or `Terminating` if the object is being deleted."""
    if "deletionTimestamp" in document["metadata"]:
        return "Terminating"
    return value(document, "status.phase") or ""


def conditions_met(document: Document) -> set[str]:
    """Return the types of the conditions whose status is `True`."""
    conditions = value(document, "status.conditions") or ()
    return {item.get("type", "") for item in conditions if item.get("status") == "True"}


# ------------------------------------------------------------------ nodes


def node_status(node: Document) -> str:
    """Return `Ready`, `NotReady` or `Unknown`, with `,SchedulingDisabled` if it is cordoned."""
    conditions = value(node, "status.conditions") or ()
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if value(node, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def node_roles(node: Document) -> str:
    """Return the roles that the node's labels name, `<none>` if they name none."""
    labels = value(node, "metadata.labels") or {}
    roles = [key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)]
    if role := labels.get("kubernetes.io/role"):
        roles.append(role)
    return ",".join(sorted(roles)) or NONE


def node_address(kind: str) -> Callable[[Document], str]:
    """Return a cell with the node's first address of a type, such as `InternalIP`."""

    def cell(node: Document) -> str:
        addresses = value(node, "status.addresses") or ()
        return next((a["address"] for a in addresses if a.get("type") == kind), NONE)

    return cell


# ------------------------------------------------------------------ events


def event_object(event: Document) -> str:
    """Return the object that an event is about: `pod/web-0`."""
    about = event.get("involvedObject") or {}
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def event_source(event: Document) -> str:
    """Return the component that reported an event, and its host: `kubelet, node-1`."""
    component = value(event, "source.component") or event.get("reportingComponent") or ""
    host = value(event, "source.host") or event.get("reportingInstance") or ""
    return ", ".join(part for part in (component, host) if part)


def event_count(event: Document) -> int:
    """Return the number of occurrences of an event."""
    return value(event, "series.count") or event.get("count") or 1


def event_last_seen(event: Document, now: str) -> str:
    """Return the time since the last occurrence of an event."""
    last = value(event, "series.lastObservedTime") or event.get("lastTimestamp")
    return durations.between(last or event.get("eventTime") or "", now)


def event_first_seen(event: Document, now: str) -> str:
    """Return the time since the first occurrence of an event."""
    return durations.between(event.get("firstTimestamp") or event.get("eventTime") or "", now)


# ------------------------------------------------------------------ workloads


def _containers(document: Document) -> list[Document]:
    return value(document, "spec.template.spec.containers") or []


def container_names(document: Document) -> str:
    """Return the names of the pod template's containers."""
    return ",".join(container.get("name", "") for container in _containers(document))


def container_images(document: Document) -> str:
    """Return the images of the pod template's containers."""
    return ",".join(container.get("image", "") for container in _containers(document))


def selector(document: Document) -> str:
    """Return the labels of `spec.selector` as text: `app=web,tier=front`."""
    label_selector = value(document, "spec.selector") or {}
    labels = label_selector.get("matchLabels", label_selector) or {}
    texts = [f"{key}={text}" for key, text in sorted(labels.items()) if isinstance(text, str)]
    return ",".join(texts) or NONE


def node_selector(document: Document) -> str:
    """Return the pod template's `nodeSelector` as text."""
    labels = value(document, "spec.template.spec.nodeSelector") or {}
    return ",".join(f"{key}={text}" for key, text in sorted(labels.items())) or NONE


def ready_of_desired(document: Document) -> str:
    """Return the ready and the desired replicas: `1/3`."""
    ready = value(document, "status.readyReplicas") or 0
    desired = value(document, "spec.replicas")
    return f"{ready}/{0 if desired is None else desired}"


def job_status(job: Document) -> str:
    """Return the state of a Job: `Complete`, `Failed`, `Terminating`, `Suspended`, `Running`, …"""
    met = conditions_met(job)
    for word in ("Complete", "Failed"):
        if word in met:
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    return next((word for word in ("Suspended", "FailureTarget") if word in met), "Running")


def job_completions(job: Document) -> str:
    """Return the succeeded and the desired completions: `1/3`, or `1/1 of 4` without a number."""
    succeeded = value(job, "status.succeeded") or 0
    completions = value(job, "spec.completions")
    if completions is not None:
        return f"{succeeded}/{completions}"
    parallelism = value(job, "spec.parallelism") or 1
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Document, now: str) -> str:
    """Return the time from the Job's start to its completion or to now, "" before the start."""
    started, ended = value(job, "status.startTime"), value(job, "status.completionTime")
    return durations.between(started, ended or now) if started else ""


def suspended(job: Document) -> str:
    """Return `spec.suspend` as `True` or `False`."""
    return str(bool(value(job, "spec.suspend")))


def last_schedule(job: Document, now: str) -> str:
    """Return the time since the CronJob last created a Job, `<none>` if it never did."""
    last = value(job, "status.lastScheduleTime")
    return durations.between(last, now) if last else NONE


# ------------------------------------------------------------------ services, volumes, roles


def external_ips(service: Document) -> str:
    """Return the external addresses of a Service; `<pending>` for a load balancer without any."""
    points = value(service, "status.loadBalancer.ingress") or ()
    addresses = [point.get("ip") or point.get("hostname") or "" for point in points]
    addresses += value(service, "spec.externalIPs") or ()
    if not addresses and value(service, "spec.type") == "LoadBalancer":
        return "<pending>"
    return ",".join(addresses) or NONE


def service_ports(service: Document) -> str:
    """Return the ports of a Service: `80/TCP,443:30443/TCP`."""
    texts = []
    for port in value(service, "spec.ports") or ():
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port', 0)}{outside}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or NONE


def access_modes(path: str) -> Callable[[Document], str]:
    """Return a cell with the abbreviated access modes at a path: `RWO,ROX`."""
    return lambda document: ",".join(
        _ACCESS_MODES.get(mode, mode) for mode in value(document, path) or ()
    )


def volume_claim(volume: Document) -> str:
    """Return the claim that a PersistentVolume is bound to: `default/data-0`."""
    claim = value(volume, "spec.claimRef") or {}
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def role(binding: Document) -> str:
    """Return the role of a role binding: `ClusterRole/admin`."""
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


# ------------------------------------------------------------------ devices


def claim_state(claim: Document) -> str:
    """Return the state of a ResourceClaim: `deleted,allocated,reserved` in part, or `pending`."""
    status, states = claim.get("status") or {}, []
    if "deletionTimestamp" in claim["metadata"]:
        states.append("deleted")
    if status.get("allocation") is not None:
        states.append("allocated")
    if status.get("reservedFor"):
        states.append("reserved")
    return ",".join(states or ["pending"])
