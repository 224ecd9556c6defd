"""Draws what other clients do in a world, and the faults of its API server."""

import dataclasses
from collections.abc import Sequence

from harness.explore.worlds import api_server, literals, parts, world_fixtures
from harness.explore.worlds.random_worlds import drawings, pod_drawing

HOLDER = "claim-of-another"
STALE = "claim-with-stale-users"
UNSEEN = api_server.EXPIRED_CLAIM_WATCH
GAPS = (api_server.EXPIRED_WATCH, UNSEEN)
"""Faults after which a watch cannot be resumed, so that events are missed."""
FAULTS = (api_server.TOUCHED_OBJECT, api_server.DROPPED_WATCH, *GAPS, *api_server.LOSSES)


def actions(
    users: pod_drawing.Users, *, is_controlled: bool, has_kubelets: bool
) -> list[parts.Part]:
    stream = users.stream
    found = [
        *_of_pods(users, is_controlled=is_controlled, has_kubelets=has_kubelets),
        *_of_claims(users, is_controlled=is_controlled),
        *_of_pools(users),
    ]
    if is_controlled and stream.chance(0.08, "restart: claim controller"):
        found.append(literals.does("stop_controller", needs=(parts.CONTROLLER,)))
    is_single = not any(part.name == parts.SECOND_SCHEDULER for part in users.others)
    # A write of the scheduler that is stopped comes late: with extended resources that shows H16.
    restarted = 0.0 if users.has_extended else 0.06
    if is_single and stream.chance(restarted, "restart: scheduler"):
        found.append(literals.does("fail_over"))
    return found


def faults(users: pod_drawing.Users, actions: Sequence[parts.Part]) -> list[parts.Part]:
    """Draw the kinds of faults; often only a broken watch of claims where claims are freed."""
    stream = users.stream
    done = {part.does for part in actions}
    possible = _possible_faults(users, done)
    is_freed = bool(done & {"delete_pod", "finish_pod"}) and UNSEEN in possible
    if is_freed and stream.chance(0.5 if users.is_small else 0.15, f"fault: {UNSEEN}"):
        return [literals.fault(UNSEEN)]
    chosen = stream.some_of(possible, stream.number(1, 2)) if stream.chance(0.5) else []
    for name in chosen:
        stream.note(f"fault: {name}")
    return [*map(literals.fault, chosen)]


def _possible_faults(users: pod_drawing.Users, done: set[str]) -> list[str]:
    """Return the faults that show no hazard that has no remedy; `done`: what other clients do.

    No write is lost where a pod has several claims: that shows H10. None comes late where a pod
    asks for extended resources, or where a generated claim is lost: that shows H16 and H17. No
    event is missed where a scheduler is restarted: the remedy `fence-predecessor` says that it does
    not cover that.
    """
    excluded: set[str] = set()
    if users.has_several:
        excluded.update(api_server.LOSSES)
    if users.has_extended or "lose_claim" in done:
        excluded.add(api_server.LATE_REQUEST)
    if "fail_over" in done:
        excluded.update(GAPS)
    return [fault for fault in FAULTS if fault not in excluded]


def _of_pods(
    users: pod_drawing.Users, *, is_controlled: bool, has_kubelets: bool
) -> list[parts.Part]:
    found, stream = [], users.stream
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


def _of_claims(users: pod_drawing.Users, *, is_controlled: bool) -> list[parts.Part]:
    """Draw claims that are there before, with a device: for no pod, or for one that is gone."""
    stream, node = users.stream, users.supply.nodes[0]
    if not users.supply.is_plain or users.is_allocated:
        return []
    if is_controlled and stream.chance(0.12, "claim: stale reservation"):
        is_foreign = stream.chance(0.5, "claim: consumer that is no pod")
        consumers = [*[world_fixtures.FOREIGN_CONSUMER] * is_foreign, world_fixtures.GONE_POD]
        claim = world_fixtures.claim(STALE)
        claim["metadata"]["finalizers"] = [world_fixtures.FINALIZER]
        claim["status"] = world_fixtures.allocated("device-0", consumers, node_name=node)
        return [literals.there(claim)]
    if stream.chance(0.12, "claim: deleted without finalizer"):
        claim = world_fixtures.claim(HOLDER)
        claim["status"] = world_fixtures.allocated("device-0", node_name=node)
        when = stream.one_of((parts.AT_REST, parts.ANY_TIME))
        return [
            literals.there(claim),
            literals.does("delete_claim", HOLDER, when=when, needs=(HOLDER,)),
        ]
    return []


def _of_pools(users: pod_drawing.Users) -> list[parts.Part]:
    stream, supply = users.stream, users.supply
    if supply.has_conditions:
        return []
    pool = stream.one_of(supply.pools)
    when = stream.weighted([(parts.ANY_TIME, 2), (parts.AT_REST, 1)])
    if len(supply.drivers) == 1 and stream.chance(0.12, "taint rule"):
        return _of_rules(users, pool, when=when)
    if stream.chance(0.05, "pool: withdrawn"):
        return [literals.does("withdraw_pool", pool.name, when=when, needs=(pool.name,))]
    if supply.has_partitions:
        return _of_partitions(stream, supply.pools[0])
    is_plain = len(pool.documents) == 1 and not supply.kinds
    if is_plain and stream.chance(0.06, "pool: new generation"):
        return [literals.does("renew_pool", pool.name, when=when, needs=(pool.name,))]
    return []


def _of_partitions(stream: drawings.DrawingStream, pool: parts.Part) -> list[parts.Part]:
    """Draw that devices begin or end to be shared, or that one leaves its slice."""
    found = []
    for does, feature in (("share_devices", "pool: shares"), ("drop_device", "pool: drops")):
        if stream.chance(0.2, f"{feature} a device"):
            when = stream.one_of((parts.ANY_TIME, parts.AT_REST))
            found.append(literals.does(does, pool.name, when=when, needs=(pool.name,)))
    return found


def _of_rules(users: pod_drawing.Users, pool: parts.Part, *, when: str) -> list[parts.Part]:
    """Draw a rule that taints all devices; the last pod, or all, may come when all know of it."""
    stream = users.stream
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
