"""What each kind does to an object on its way into the store: defaults, and which fields which endpoint may write."""

from typing import Any

from harness.apiserver import dropping, resources

Document = dict[str, Any]
_SERVER_SET = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)
_STATUS_KEEPS = ("labels", "annotations", "finalizers", "ownerReferences")
DEFAULT_GRACE_S = 30


def prepare_create(resource: resources.ResourceType, document: Document) -> None:
    """Defaults, in place; what only the server may set is cleared (dra.md 4.2)."""
    meta = document["metadata"]
    for key in (*_SERVER_SET, "resourceVersion", "selfLink"):
        meta.pop(key, None)
    if resource.has_status and resource is not resources.NODES:
        document.pop("status", None)
    default(resource, document)
    dropping.drop_disabled(resource, document)
    if resource.tracks_generation:
        meta["generation"] = 1
    if resource is resources.PODS:
        document["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    elif resource is resources.NAMESPACES:
        document["spec"] = {"finalizers": ["kubernetes"]}
        document["status"] = {"phase": "Active"}
        meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta["name"]
    elif resource is resources.CLAIMS:
        document["status"] = {}


def prepare_update(
    resource: resources.ResourceType, document: Document, old: Document, *, subresource: str
) -> None:
    """Take over from the old object what this endpoint may not write, in place."""
    meta, before = document["metadata"], old["metadata"]
    for key in _SERVER_SET:
        _take(meta, before, key)
    if subresource == "status":
        _keep_all_but_status(document, old)
        if resource is resources.CLAIMS:
            dropping.drop_stale_reports(document, old)
    elif resource.has_status:
        _take(document, old, "status")
        if resource is resources.NAMESPACES:
            _take(document, old, "spec")
    default(resource, document)
    dropping.drop_disabled(resource, document, old)
    if resource.tracks_generation and document.get("spec") != old.get("spec"):
        meta["generation"] = before.get("generation", 1) + 1


def default(resource: resources.ResourceType, document: Document) -> None:
    """The kind's default values, in place."""
    if resource is resources.PODS:
        _default_pod(document.setdefault("spec", {}))
    elif resource is resources.CLAIMS:
        _default_claim_spec(document.setdefault("spec", {}))
    elif resource is resources.CLAIM_TEMPLATES:
        _default_claim_spec(document.setdefault("spec", {}).setdefault("spec", {}))


def grace_seconds(document: Document, wanted: int | None) -> int:
    """How long a scheduled pod may take to end; 0 for one that nobody runs."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if wanted is not None:
        return max(wanted, 0)
    default_s = spec.get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE_S if default_s is None else int(default_s)


def _take(target: Document, source: Document, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


def _keep_all_but_status(document: Document, old: Document) -> None:
    for key in set(document) | set(old):
        if key not in ("status", "metadata"):
            _take(document, old, key)
    for key in _STATUS_KEEPS:
        _take(document["metadata"], old["metadata"], key)


def _default_pod(spec: Document) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE_S)
    spec.setdefault("securityContext", {})
    spec.setdefault("enableServiceLinks", True)
    for container in spec.get("containers") or []:
        if isinstance(container, dict):
            container.setdefault("resources", {})
            container.setdefault("imagePullPolicy", "IfNotPresent")
            container.setdefault("terminationMessagePath", "/dev/termination-log")
            container.setdefault("terminationMessagePolicy", "File")


def _default_claim_spec(spec: Document) -> None:
    for request in (spec.get("devices") or {}).get("requests") or []:
        if exactly := request.get("exactly"):
            _default_request(exactly)
        for subrequest in request.get("firstAvailable") or []:
            _default_request(subrequest)


def _default_request(request: Document) -> None:
    mode = request.setdefault("allocationMode", "ExactCount")
    if mode == "ExactCount" and "count" not in request:
        request["count"] = 1
