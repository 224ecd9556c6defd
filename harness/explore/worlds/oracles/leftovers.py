"""Judges, at rest, that nothing is left behind by pods that are gone, and nothing left out."""

from collections.abc import Iterable, Iterator

from harness.explore.worlds.oracles import states
from harness.model.objects import Object

DONE = ("Succeeded", "Failed")
_EXTENDED = "resource.kubernetes.io/extended-resource-claim"
_ENTRY = "resource.kubernetes.io/pod-claim-name"


def live(pods: Iterable[Object]) -> Iterator[Object]:
    """Yield the pods that have not ended and are not to end."""
    for pod in pods:
        is_done = pod.get("status", {}).get("phase") in DONE
        if not is_done and "deletionTimestamp" not in pod["metadata"]:
            yield pod


def of_controller(state: states.State) -> str | None:
    """Return which reservation or generated claim of an ended pod the claim controller has left."""
    if not state.is_controlled:
        return None
    pods = {pod["metadata"]["uid"]: pod for pod in state.pods}
    ended = {uid for uid, pod in pods.items() if pod.get("status", {}).get("phase") in DONE}
    for claim in state.claims:
        meta, status = claim["metadata"], claim.get("status", {})
        for user in status.get("reservedFor") or ():
            is_gone = user["uid"] not in pods or user["uid"] in ended
            if user["resource"] == "pods" and is_gone:
                return f"leaked: {meta['name']} is reserved for {user['name']}, which has ended"
        for owner in meta.get("ownerReferences") or ():
            is_kept = "deletionTimestamp" not in meta and not status.get("reservedFor")
            if owner["uid"] in ended and is_kept and not _is_spare(claim, pods[owner["uid"]]):
                return f"leaked: {meta['name']} is there, but its pod {owner['name']} has ended"
        if "deletionTimestamp" in meta and not status.get("reservedFor"):
            return f"leaked: {meta['name']} is not in use, and is not deleted"
    return None


def _is_spare(claim: Object, pod: Object) -> bool:
    """Return whether a claim for extended resources has no use, and goes with its pod.

    The answer to its creation was lost, the next attempt of the pod made another one, and the pod
    names only that one. When the pod ends, only the claim that it names is synced.
    """
    meta, status = claim["metadata"], pod.get("status", {})
    named = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
    is_extended = _EXTENDED in meta.get("annotations", {})
    return is_extended and "allocation" not in claim.get("status", {}) and named != meta["name"]


def without_claims(state: states.State) -> str | None:
    """Return which entry of a pod that has not ended names no claim made for it."""
    if not state.is_controlled:
        return None
    metas = [claim["metadata"] for claim in state.claims]
    entries = {meta["name"]: meta.get("annotations", {}).get(_ENTRY) for meta in metas}
    for pod in live(state.pods):
        statuses = pod.get("status", {}).get("resourceClaimStatuses") or ()
        recorded = {item["name"]: item.get("resourceClaimName") for item in statuses}
        for entry in pod["spec"].get("resourceClaims") or ():
            if "resourceClaimTemplateName" not in entry:
                continue
            name, claim = (
                f"{entry['name']} of {pod['metadata']['name']}",
                recorded.get(entry["name"]),
            )
            if claim not in entries:
                return f"entry: {name} has no claim that is there"
            if entries[claim] != entry["name"]:
                return f"entry: {name} has the claim of entry {entries[claim]}"
    return None


def of_extended_pods(state: states.State) -> str | None:
    """Return which bound pod names no allocated claim for its extended resources."""
    claims = {claim["metadata"]["name"]: claim for claim in state.claims}
    named = set()
    for pod in state.pods:
        if not pod["spec"].get("nodeName") or not states.extended_claims(pod):
            continue
        status = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
        claim = claims.get(status.get("resourceClaimName") or "", {})
        named.add(status.get("resourceClaimName"))
        is_live = any(True for _ in live([pod]))
        if is_live and "allocation" not in claim.get("status", {}):
            return f"extended: {pod['metadata']['name']} runs without its devices"
    return None
