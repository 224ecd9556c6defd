"""The parts of an observed object that the certificate compares: identity, owners, names."""

import msgspec

from harness.checks.observed import observations, observed_pods

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


class ObservedObject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The parts of one observation that the certificate compares with other evidence."""

    resource: str
    type: str
    """`ADDED`, `MODIFIED`, `DELETED`, `LISTED` or `FINAL`."""
    rv: int
    """The resourceVersion of the record."""
    uid: str
    namespace: str
    name: str
    stated_rv: str
    """The resourceVersion in the object."""
    kind: str
    """Empty in the items of lists."""
    created: str
    """`creationTimestamp`; empty if there is none."""
    content: int
    """Digest of the object without kind and apiVersion; for comparisons within this process."""
    owners: tuple[str, ...] = ()
    """uids of the pods that own it."""
    claims: tuple[str, ...] = ()
    """Names of the claims that must exist because a pod uses them."""

    @property
    def title(self) -> str:
        """The object for messages: `pods tests/p`."""
        space = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource} {space}{self.name}"

    @property
    def has_foreign_kind(self) -> bool:
        """True if the kind in the object is not that of the resource."""
        return bool(self.kind) and self.kind != _KINDS.get(self.resource, self.kind)


def of(seen: observations.SeenAny) -> ObservedObject:
    """Return the parts of an observation that are compared."""
    meta = seen.object.metadata
    is_pod = isinstance(seen.object, observed_pods.Pod)
    return ObservedObject(
        resource=seen.resource,
        type=seen.type,
        rv=seen.version,
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        stated_rv=meta.resource_version,
        kind=seen.object.kind,
        created=meta.creation_timestamp or "",
        content=digest(seen.content),
        owners=tuple(one.uid for one in meta.owner_references or () if one.kind == "Pod"),
        claims=_claims_of(seen.object) if is_pod else (),
    )


def digest(content: bytes) -> int:
    """Return a digest of an object's JSON without kind and apiVersion, which come first."""
    return hash(content[max(content.find(b'"metadata"'), 0) :])


def _claims_of(pod: observed_pods.Pod) -> tuple[str, ...]:
    """Return the claims whose existence the pod proves.

    The claim controller names a claim in the status after creating it. The spec may name one that
    never existed, unless the pod's containers run.
    """
    status = pod.status
    made = [item.resource_claim_name for item in status.resource_claim_statuses or ()]
    if status.extended_resource_claim_status is not None:
        made.append(status.extended_resource_claim_status.resource_claim_name)
    if status.phase == "Running":
        made += [item.resource_claim_name for item in pod.spec.resource_claims or ()]
    return tuple(name for name in made if name)
