"""Judges of a world at rest: what waits, what is left behind, and what a scheduler believes.

Pods that could run are searched for as the check of progress does, which shares neither code nor
ideas with the scheduler. In doubt a pod cannot run, so that it may wait, as for a device whose
driver has yet to make it ready.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from harness import concurrency
from harness.checks.holds import live_spotter
from harness.checks.observed import observed_cluster
from harness.checks.progress import stuck_objects, world_states
from harness.explore.worlds import world_fixtures
from harness.explore.worlds.oracles import states
from harness.model.objects import Object

_EXTENDED = "resource.kubernetes.io/extended-resource-claim"
_EXTENDED = "resource.kubernetes.io/extended-resource-claim"
_SETTINGS = {"pools": {"device_class": {"name": world_fixtures.DEVICE_CLASS}}}
"""The part of the settings of a plan that tells of extended resources."""


def unbound(state: states.State) -> str | None:
    """Return which pods are not bound, whatever the reason; None if all are."""
    waiting = [pod["metadata"]["name"] for pod in state.pods if "nodeName" not in pod["spec"]]
    return f"stuck: {', '.join(waiting)} not bound" if waiting else None


def stuck(state: states.State) -> str | None:
    """Return which pod waits although it could run; None: none does."""
    if all("nodeName" in pod["spec"] for pod in state.pods):
        return None
    return _stuck(msgspec.json.encode(dataclasses.replace(state, books=())))


@functools.lru_cache(maxsize=256)
def _stuck(encoded: bytes) -> str | None:
    # Most runs come to rest in a state in which others did: each is searched once.
    state = states.State(**msgspec.json.decode(encoded))
    found = stuck_objects.find_pods(_as_observed(state), _SETTINGS).stuck
    names = (item.involved[0].metadata.name for item in found)
    waiting = {
        pod["metadata"]["name"]
        for pod in state.pods
        if "nodeName" not in pod["spec"] and "deletionTimestamp" not in pod["metadata"]
    }
    return next((f"stuck: {name} could run" for name in names if name in waiting), None)


def _as_observed(state: states.State) -> world_states.WorldState:
    """Return the state as an observer knows it; of unbound pods, those that a scheduler sees."""
    world = world_states.WorldState()
    world.classes[world_fixtures.DEVICE_CLASS] = observed_cluster.DeviceClassSpec()
    world.nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in state.nodes}
    for driver in state.tainted:
        rule = {
            "deviceSelector": {"driver": driver},
            "taint": {"key": "rule", "effect": "NoSchedule"},
        }
        world.taint_rules[driver] = states.observed(rule, observed_cluster.TaintRuleSpec)
    pods = [
        pod
        for pod in state.pods
        if "nodeName" in pod["spec"] or pod["spec"].get("schedulerName") in state.schedulers
    ]
    for resource, documents in (
        (world_states.PODS, pods),
        (world_states.CLAIMS, state.claims),
        (world_states.SLICES, state.slices),
    ):
        for document in documents:
            kind = world_states.TYPES[resource]
            world.note(states.observed(document, kind), 0, is_gone=False)
    return world


def left_by_controller(state: states.State) -> str | None:
    """Return which reservation or generated claim of an ended pod the claim controller has left."""
    if not state.is_controlled:
        return None
    pods = {pod["metadata"]["uid"]: pod for pod in state.pods}
    ended = {uid for uid, pod in pods.items() if states.is_done(pod)}
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
    entries = {meta["name"]: meta.get("annotations", {}).get(states.ENTRY) for meta in metas}
    for pod in state.pods:
        if states.is_ending(pod):
            continue
        statuses = pod.get("status", {}).get("resourceClaimStatuses") or ()
        recorded = {item["name"]: item.get("resourceClaimName") for item in statuses}
        for entry in pod["spec"].get("resourceClaims") or ():
            if "resourceClaimTemplateName" not in entry:
                continue
            name = f"{entry['name']} of {pod['metadata']['name']}"
            claim = recorded.get(entry["name"])
            if claim not in entries:
                return f"entry: {name} has no claim that is there"
            if entries[claim] != entry["name"]:
                return f"entry: {name} has the claim of entry {entries[claim]}"
    return None


def without_devices(state: states.State) -> str | None:
    """Return which bound pod names no allocated claim for its extended resources."""
    claims = {claim["metadata"]["name"]: claim for claim in state.claims}
    for pod in state.pods:
        if not pod["spec"].get("nodeName") or not states.extended_claims(pod):
            continue
        status = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
        claim = claims.get(status.get("resourceClaimName") or "", {})
        if not states.is_ending(pod) and "allocation" not in claim.get("status", {}):
            return f"extended: {pod['metadata']['name']} runs without its devices"
    return None


def differing_books(state: states.State) -> str | None:
    """Return how the books of a scheduler differ from the claims of the API; None: none do.

    Shares of devices are not compared.
    """
    found = (_difference(write_books, state.claims) for write_books in state.books)
    return next(filter(None, found), None)


def _difference(write_books: Callable[[], None], claims: list[Object]) -> str | None:
    """Compare the books; `write_books` takes the steps of `subject.final_books`."""
    steps: list[tuple[str, concurrency.StepFields]] = []
    with concurrency.listening(lambda name, fields: steps.append((name, fields))):
        write_books()

    def written(name: str, key: str) -> Iterator[Any]:
        return (item for step, fields in steps if step == name for item in fields[key])

    believed = set(written("scheduler.books.devices", "devices"))
    allocated = {device for claim in claims for device in live_spotter.exclusive_devices(claim)}
    if believed != allocated:
        mine, theirs = (", ".join(sorted(it)) or "no device" for it in (believed, allocated))
        return f"books: the scheduler believes in {mine}, allocated is {theirs}"
    known = {it["uid"]: it["version"] for it in written("scheduler.books.claims", "claims")}
    for meta in (claim["metadata"] for claim in claims):
        version = known.pop(meta["uid"], None)
        if version != meta["resourceVersion"]:
            return (
                f"books: the scheduler knows version {version} of {meta['name']}, "
                f"not {meta['resourceVersion']}"
            )
    if known:
        return f"books: the scheduler knows {len(known)} claims that are gone"
    name, fields = steps[-1]
    if name != "scheduler.books" or fields["in_flight"]:
        return f"books: {len(fields.get('in_flight', ()))} claims are in flight"
    return None
