"""The parts of an observed object that the certificate compares: identity, owners, names."""

from collections.abc import Iterator

from harness.checks.observed import observations, observed_metadata, observed_pods

_KINDS = {
    observations.CLAIMS: "ResourceClaim",
    observations.PODS: "Pod",
    observations.SLICES: "ResourceSlice",
    observations.NODES: "Node",
    observations.CLASSES: "DeviceClass",
    observations.TAINT_RULES: "DeviceTaintRule",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "events": "Event",
    "leases": "Lease",
    "namespaces": "Namespace",
}
"""Resource -> kind of its objects."""


def title(seen: observations.SeenAny) -> str:
    """Return the object for messages: `pods tests/p`."""
    meta = seen.object.metadata
    space = f"{meta.namespace}/" if meta.namespace else ""
    return f"{seen.resource} {space}{meta.name}"


def has_foreign_kind(seen: observations.SeenAny) -> bool:
    """Return whether the kind in the object is not that of the resource."""
    kind: str = seen.object.kind  # empty in the items of lists
    return bool(kind) and kind != _KINDS.get(seen.resource, kind)


def digest(content: bytes) -> int:
    """Return a digest of an object's JSON without kind and apiVersion, which come first.

    It is good for comparisons within this process only, like all digests here.
    """
    return hash(content[max(content.find(b'"metadata"'), 0) :])


def pods_owning(meta: observed_metadata.Meta) -> Iterator[str]:
    for owner in meta.owner_references or ():
        if owner.kind == "Pod":
            yield owner.uid


def claims_of(pod: observed_pods.Pod) -> Iterator[str]:
    """Yield the names of the claims whose existence the pod proves.

    The claim controller names a claim in the status after creating it. The spec may name one that
    never existed, unless the pod's containers run.
    """
    status = pod.status
    made = [item.resource_claim_name for item in status.resource_claim_statuses or ()]
    if status.extended_resource_claim_status is not None:
        made.append(status.extended_resource_claim_status.resource_claim_name)
    if status.phase == "Running":
        made += [item.resource_claim_name for item in pod.spec.resource_claims or ()]
    yield from filter(None, made)
