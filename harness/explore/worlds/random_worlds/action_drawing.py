"""Draws what other clients do in a world, and the faults of its API server."""

import dataclasses
from collections.abc import Sequence

from harness.explore.worlds import literals, parts, world_fixtures
from harness.explore.worlds.random_worlds import device_drawing, drawings, pod_drawing

Stream = drawings.DrawingStream
HOLDER = "claim-of-another"
STALE = "claim-with-stale-users"
GONE = {"resource": "pods", "name": "gone", "uid": "00000000-0000-4000-8000-000000000002"}
FOREIGN = {
    "apiGroup": "batch.example",
    "resource": "jobs",
    "name": "job-1",
    "uid": "00000000-0000-4000-8000-000000000001",
}
LATE = "delay-request"
LOSSES = ("lose-response", "lose-request", LATE)
"""Faults of writes: the answer or the request is lost, or the request comes late."""
UNSEEN = "expire-claim-watch"
GAPS = ("expire-watch", UNSEEN)
"""Faults after which a watch cannot be resumed, so that events are missed."""
FAULTS = ("touch-objects", "drop-watch", *GAPS, *LOSSES)


def actions(
    stream: Stream,
    supply: device_drawing.Supply,
    users: pod_drawing.Users,
    *,
    is_controlled: bool,
    has_kubelets: bool,
) -> list[parts.Part]:
    found = [
        *_of_pods(stream, users, is_controlled=is_controlled, has_kubelets=has_kubelets),
        *_of_claims(stream, supply, is_controlled=is_controlled, is_allocated=users.is_allocated),
        *_of_pools(stream, supply, users),
    ]
    if is_controlled and stream.chance(0.08, "restart: claim controller"):
        found.append(literals.does("stop_controller", needs=(parts.CONTROLLER,)))
    is_single = not any(part.name == parts.SECOND_SCHEDULER for part in users.others)
    # A write of the scheduler that is stopped comes late: with extended resources that shows H16.
    restarted = 0.0 if users.has_extended else 0.06
    if is_single and stream.chance(restarted, "restart: scheduler"):
        found.append(literals.does("fail_over"))
    return found


def faults(
    stream: Stream, users: pod_drawing.Users, actions: Sequence[parts.Part]
) -> list[parts.Part]:
    """Draw the kinds of faults; often only a broken watch of claims where claims are freed."""
    done = {part.does for part in actions}
    possible = _possible_faults(users, done)
    is_freed = bool(done & {"delete_pod", "finish_pod"}) and UNSEEN in possible
    if is_freed and stream.chance(0.5 if users.is_small else 0.15, f"fault: {UNSEEN}"):
        return [parts.Part(name=UNSEEN, kind="fault")]
    if not stream.chance(0.5):
        return []
    chosen = stream.some_of(possible, stream.number(1, 2))
    for name in chosen:
        stream.note(f"fault: {name}")
    return [parts.Part(name=name, kind="fault") for name in chosen]


def _possible_faults(users: pod_drawing.Users, done: set[str]) -> list[str]:
    """Return the faults that show no hazard that has no remedy; `done`: what other clients do.

    No write is lost where a pod has several claims: that shows H10. None comes late where a pod
    asks for extended resources, or where a generated claim is lost: that shows H16 and H17. No
    event is missed where a scheduler is restarted: the remedy `fence-predecessor` says that it does
    not cover that.
    """
    excluded: set[str] = set()
    if users.has_several:
        excluded.update(LOSSES)
    if users.has_extended or "lose_claim" in done:
        excluded.add(LATE)
    if "fail_over" in done:
        excluded.update(GAPS)
    return [fault for fault in FAULTS if fault not in excluded]


def _of_pods(
    stream: Stream, users: pod_drawing.Users, *, is_controlled: bool, has_kubelets: bool
) -> list[parts.Part]:
    found = []
    for pod in users.pods:
        bound = f"bound {pod.name}"
        is_extended = pod_drawing.is_extended(pod.documents[0])
        finishes = (0.3 if is_extended else 0.12) if is_controlled else 0.03
        deleted = (0.45 if users.is_small else 0.25) if is_controlled else 0.06
        if stream.chance(deleted, "pod: deleted"):
            when = stream.weighted([(bound, 4), (parts.ANY_TIME, 2), (parts.AT_REST, 1)])
            found.append(literals.does("delete_pod", pod.name, when=when, needs=(pod.name,)))
        elif not has_kubelets and stream.chance(finishes, "pod: finishes"):
            found.append(literals.does("finish_pod", pod.name, when=bound, needs=(pod.name,)))
    for name in users.generated:
        if stream.chance(0.15, "claim: lost while its pod waits"):
            when = f"recorded {name}"
            found.append(literals.does("lose_claim", name, when=when, needs=(name,)))
    return found


def _of_claims(
    stream: Stream, supply: device_drawing.Supply, *, is_controlled: bool, is_allocated: bool
) -> list[parts.Part]:
    """Draw claims that are there before, with a device: for no pod, or for one that is gone."""
    if not supply.is_plain or is_allocated:
        return []
    device = "device-0"
    if is_controlled and stream.chance(0.12, "claim: stale reservation"):
        users = [GONE]
        if stream.chance(0.5, "claim: consumer that is no pod"):
            users = [FOREIGN, GONE]
        claim = world_fixtures.claim(STALE)
        claim["metadata"]["finalizers"] = [world_fixtures.FINALIZER]
        claim["status"] = world_fixtures.allocated(device, users, node_name=supply.nodes[0])
        return [parts.Part(name=STALE, kind="claim", documents=(claim,))]
    if stream.chance(0.12, "claim: deleted without finalizer"):
        claim = world_fixtures.claim(HOLDER)
        claim["status"] = world_fixtures.allocated(device, node_name=supply.nodes[0])
        when = stream.one_of((parts.AT_REST, parts.ANY_TIME))
        return [
            parts.Part(name=HOLDER, kind="claim", documents=(claim,)),
            literals.does("delete_claim", HOLDER, when=when, needs=(HOLDER,)),
        ]
    return []


def _of_pools(
    stream: Stream, supply: device_drawing.Supply, users: pod_drawing.Users
) -> list[parts.Part]:
    if supply.has_conditions:
        return []
    pool = stream.one_of(supply.pools)
    when = stream.weighted([(parts.ANY_TIME, 2), (parts.AT_REST, 1)])
    if len(supply.drivers) == 1 and stream.chance(0.12, "taint rule"):
        return _of_rules(stream, pool, users, when=when)
    if stream.chance(0.05, "pool: withdrawn"):
        return [literals.does("withdraw_pool", pool.name, when=when, needs=(pool.name,))]
    if supply.has_partitions:
        return _of_partitions(stream, supply.pools[0])
    is_plain = len(pool.documents) == 1 and not supply.kinds
    if is_plain and stream.chance(0.06, "pool: new generation"):
        return [literals.does("renew_pool", pool.name, when=when, needs=(pool.name,))]
    return []


def _of_partitions(stream: Stream, pool: parts.Part) -> list[parts.Part]:
    """Draw that devices begin or end to be shared, or that one leaves its slice."""
    found = []
    for does, feature in (("share_devices", "pool: shares"), ("drop_device", "pool: drops")):
        if stream.chance(0.2, f"{feature} a device"):
            when = stream.one_of((parts.ANY_TIME, parts.AT_REST))
            found.append(literals.does(does, pool.name, when=when, needs=(pool.name,)))
    return found


def _of_rules(
    stream: Stream, pool: parts.Part, users: pod_drawing.Users, *, when: str
) -> list[parts.Part]:
    """Draw a rule that taints all devices; the last pod, or all, may come when all know of it."""
    if stream.chance(0.8, "pool: changes attributes"):
        revision = literals.does("revise_devices", pool.name, needs=(pool.name,))
        found = [literals.does("add_rule", when=parts.ANY_TIME), revision]
    else:
        found = [literals.does("add_rule", when=when)]
    if stream.chance(0.7, "pod: comes after a taint rule"):
        first_late = stream.one_of((0, -1))
        late = [dataclasses.replace(pod, when=parts.AT_REST) for pod in users.pods[first_late:]]
        users.pods[first_late:] = late
    return found
