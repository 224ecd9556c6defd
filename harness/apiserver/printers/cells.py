"""What stands in the cells of tables: an object's state in a few words, as kubectl's users know them."""

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
    """What is at a dotted path, None when nothing is."""
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def count(path: str) -> Callable[[Document], int]:
    """How many there are at a path."""
    return lambda document: len(value(document, path) or ())


def data_count(document: Document) -> int:
    """How many keys a config map or secret has."""
    return len(document.get("data") or ()) + len(document.get("binaryData") or ())


def phase(document: Document) -> str:
    """The phase, unless the object is being deleted."""
    if "deletionTimestamp" in document["metadata"]:
        return "Terminating"
    return value(document, "status.phase") or ""


def conditions_met(document: Document) -> set[str]:
    """The types of its conditions that are true."""
    conditions = value(document, "status.conditions") or ()
    return {item.get("type", "") for item in conditions if item.get("status") == "True"}


# ------------------------------------------------------------------ nodes


def node_status(node: Document) -> str:
    """`Ready`, `NotReady`, and whether it takes pods."""
    conditions = value(node, "status.conditions") or ()
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if value(node, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def node_roles(node: Document) -> str:
    """What its labels say that it is for."""
    labels = value(node, "metadata.labels") or {}
    roles = [key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)]
    if role := labels.get("kubernetes.io/role"):
        roles.append(role)
    return ",".join(sorted(roles)) or NONE


def node_address(kind: str) -> Callable[[Document], str]:
    """Its first address of a kind."""

    def cell(node: Document) -> str:
        addresses = value(node, "status.addresses") or ()
        return next((a["address"] for a in addresses if a.get("type") == kind), NONE)

    return cell


# ------------------------------------------------------------------ events


def event_object(event: Document) -> str:
    """`pod/web-0`."""
    about = event.get("involvedObject") or {}
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def event_source(event: Document) -> str:
    """Who reported it, and where."""
    component = value(event, "source.component") or event.get("reportingComponent") or ""
    host = value(event, "source.host") or event.get("reportingInstance") or ""
    return ", ".join(part for part in (component, host) if part)


def event_count(event: Document) -> int:
    """How often it happened."""
    return value(event, "series.count") or event.get("count") or 1


def event_last_seen(event: Document, now: str) -> str:
    """When it happened last."""
    last = value(event, "series.lastObservedTime") or event.get("lastTimestamp")
    return durations.between(last or event.get("eventTime") or "", now)


def event_first_seen(event: Document, now: str) -> str:
    """When it happened first."""
    return durations.between(event.get("firstTimestamp") or event.get("eventTime") or "", now)


# ------------------------------------------------------------------ workloads


def _containers(document: Document) -> list[Document]:
    return value(document, "spec.template.spec.containers") or []


def container_names(document: Document) -> str:
    """The containers of its template."""
    return ",".join(container.get("name", "") for container in _containers(document))


def container_images(document: Document) -> str:
    """Their images."""
    return ",".join(container.get("image", "") for container in _containers(document))


def selector(document: Document) -> str:
    """Its label selector as text."""
    wanted = value(document, "spec.selector") or {}
    labels = wanted.get("matchLabels", wanted) or {}
    texts = [f"{key}={text}" for key, text in sorted(labels.items()) if isinstance(text, str)]
    return ",".join(texts) or NONE


def node_selector(document: Document) -> str:
    """The nodes that its pods may be on."""
    labels = value(document, "spec.template.spec.nodeSelector") or {}
    return ",".join(f"{key}={text}" for key, text in sorted(labels.items())) or NONE


def ready_of_desired(document: Document) -> str:
    """`1/3`."""
    ready = value(document, "status.readyReplicas") or 0
    desired = value(document, "spec.replicas")
    return f"{ready}/{0 if desired is None else desired}"


def job_status(job: Document) -> str:
    """How a job ended, or what keeps it from ending."""
    met = conditions_met(job)
    for word in ("Complete", "Failed"):
        if word in met:
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    return next((word for word in ("Suspended", "FailureTarget") if word in met), "Running")


def job_completions(job: Document) -> str:
    """`1/3`."""
    succeeded = value(job, "status.succeeded") or 0
    wanted = value(job, "spec.completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = value(job, "spec.parallelism") or 1
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Document, now: str) -> str:
    """How long it took, or takes."""
    started, ended = value(job, "status.startTime"), value(job, "status.completionTime")
    return durations.between(started, ended or now) if started else ""


def suspended(job: Document) -> str:
    """`True` or `False`."""
    return str(bool(value(job, "spec.suspend")))


def last_schedule(job: Document, now: str) -> str:
    """When a job was made last."""
    last = value(job, "status.lastScheduleTime")
    return durations.between(last, now) if last else NONE


# ------------------------------------------------------------------ services, volumes, roles


def external_ips(service: Document) -> str:
    """Where it is reached from outside."""
    points = value(service, "status.loadBalancer.ingress") or ()
    addresses = [point.get("ip") or point.get("hostname") or "" for point in points]
    addresses += value(service, "spec.externalIPs") or ()
    if not addresses and value(service, "spec.type") == "LoadBalancer":
        return "<pending>"
    return ",".join(addresses) or NONE


def service_ports(service: Document) -> str:
    """`80/TCP,443:30443/TCP`."""
    texts = []
    for port in value(service, "spec.ports") or ():
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port', 0)}{outside}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or NONE


def access_modes(path: str) -> Callable[[Document], str]:
    """`RWO,ROX`."""
    return lambda document: ",".join(
        _ACCESS_MODES.get(mode, mode) for mode in value(document, path) or ()
    )


def volume_claim(volume: Document) -> str:
    """The claim that it is bound to."""
    claim = value(volume, "spec.claimRef") or {}
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def role(binding: Document) -> str:
    """`ClusterRole/admin`."""
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


# ------------------------------------------------------------------ devices


def claim_state(claim: Document) -> str:
    """`pending`, or what has been done about it."""
    status, states = claim.get("status") or {}, []
    if "deletionTimestamp" in claim["metadata"]:
        states.append("deleted")
    if status.get("allocation") is not None:
        states.append("allocated")
    if status.get("reservedFor"):
        states.append("reserved")
    return ",".join(states or ["pending"])
