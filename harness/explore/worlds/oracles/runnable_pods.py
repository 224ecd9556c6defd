"""Judges, at rest, that no pod waits that could run, by trying all devices for it.

All combinations of devices are tried, in no clever way, so that this shares neither code nor ideas
with the scheduler. In doubt a pod cannot run, so that it may wait: a pool that is incomplete offers
nothing, a pool of which a device in use has gone has no counters left, and too many combinations
are no reason to complain.
"""

import collections
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from harness.explore.worlds.oracles import granted_devices, offered_devices, states
from harness.model import quantities
from harness.model.objects import Object

Offer = offered_devices.Offer
State = states.State
Pick = tuple[offered_devices.Wish, Offer]
TRIES_MAX = 20_000
"""Maximum number of combinations of devices for one pod on one node."""
CLAIMS_MAX = 10
"""Maximum number of claims without devices of a pod that is judged."""


def unbound(state: State) -> str | None:
    """Return which pods are not bound, whatever the reason; None if all are."""
    waiting = [pod["metadata"]["name"] for pod in state.pods if "nodeName" not in pod["spec"]]
    return f"stuck: {', '.join(waiting)} not bound" if waiting else None


def stuck(state: State) -> str | None:
    """Return which pod waits although it could run; None: none does."""
    for pod in state.pods:
        spec, meta = pod["spec"], pod["metadata"]
        is_waiting = "nodeName" not in spec and "deletionTimestamp" not in meta
        is_done = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if not is_waiting or is_done or spec.get("schedulerName") not in state.schedulers:
            continue
        claims = _claims_of(state, pod)
        for node in state.nodes if claims is not None else ():
            if _is_wanted(pod, node) and _fits(state, claims or [], node["metadata"]["name"]):
                return f"stuck: {meta['name']} could run on {node['metadata']['name']}"
    return None


def _claims_of(state: State, pod: Object) -> list[Object] | None:
    """Return the claims of a pod; None: one of them is missing, or being deleted."""
    by_name = {claim["metadata"]["name"]: claim for claim in state.claims}
    statuses = pod.get("status", {}).get("resourceClaimStatuses") or ()
    generated = {status["name"]: status.get("resourceClaimName") for status in statuses}
    found = []
    for entry in pod["spec"].get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or generated.get(entry["name"])
        claim = by_name.get(name or "")
        if claim is None or "deletionTimestamp" in claim["metadata"]:
            return None
        if "resourceClaimTemplateName" in entry and not _is_owned(claim, pod):
            return None
        found.append(claim)
    return found + states.extended_claims(pod)


def _is_owned(claim: Object, pod: Object) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == pod["metadata"]["uid"] for owner in owners)


def _is_wanted(pod: Object, node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _fits(state: State, claims: list[Object], node: str) -> bool:
    waiting = []
    for claim in claims:
        allocation = claim.get("status", {}).get("allocation")
        if allocation is None:
            waiting.append(claim)
        elif (named := granted_devices.nodes_of(allocation)) and node not in named:
            return False
    if len(waiting) > CLAIMS_MAX:
        return False
    complete, all_complete = _complete_slices(state.slices)
    offered = [item for item in offered_devices.offers(complete) if item.is_reachable(node)]
    taken = _Taken(state, complete)
    choices = [
        list(_choices(request, offered, state.tainted, all_complete=all_complete))
        for claim in waiting
        for request in claim["spec"]["devices"]["requests"]
    ]
    tries = itertools.islice(itertools.product(*choices), TRIES_MAX)
    return any(_is_possible(waiting, chosen, taken) for chosen in tries)


def _choices(
    request: Object, offered: list[Offer], tainted: frozenset[str], *, all_complete: bool
) -> Iterator[Sequence[Pick]]:
    """Yield every set of devices that a request may get, as far as it alone is concerned."""
    for wish in offered_devices.wishes(request):
        selected = [offer for offer in offered if wish.selects(offer)]
        selected = [offer for offer in selected if wish.amounts(offer) is not None]
        fitting = [offer for offer in selected if wish.tolerates(offer, tainted)]
        if wish.count is None:
            if all_complete and selected and fitting == selected:
                yield [(wish, offer) for offer in selected]
        else:
            for chosen in itertools.combinations(fitting, wish.count):
                yield [(wish, offer) for offer in chosen]


def _is_possible(claims: list[Object], chosen: Sequence[Sequence[Pick]], taken: "_Taken") -> bool:
    rest, first = list(chosen), 0
    for claim in claims:
        count = len(claim["spec"]["devices"]["requests"])
        picks = [pick for request in rest[first : first + count] for pick in request]
        first += count
        if len({offer.id for _, offer in picks}) < len(picks):
            return False
        constraints = claim["spec"]["devices"].get("constraints") or ()
        offers = [offer for _, offer in picks]
        if not all(offered_devices.holds(item, offers) for item in constraints):
            return False
    picks = [pick for request in rest for pick in request]
    # The order of the claims decides if admin access goes with another use: nothing is expected.
    is_apart = len({offer.id for _, offer in picks if not offer.is_shared}) == sum(
        not offer.is_shared for _, offer in picks
    )
    return is_apart and taken.has_room_for(picks)


def _complete_slices(slices: list[Object]) -> tuple[list[Object], bool]:
    """Return the specs of the newest generation of complete pools, and whether all are complete."""
    pools = collections.defaultdict(list)
    for item in slices:
        pools[item["spec"]["driver"], item["spec"]["pool"]["name"]].append(item["spec"])
    complete = []
    for specs in pools.values():
        newest = max(spec["pool"]["generation"] for spec in specs)
        current = [spec for spec in specs if spec["pool"]["generation"] == newest]
        if len(current) == current[0]["pool"]["resourceSliceCount"]:
            complete.append(current)
    return [spec for specs in complete for spec in specs], len(complete) == len(pools)


class _Taken:
    """The devices, capacities and counters that the allocations of the API take."""

    def __init__(self, state: State, slices: list[Object]) -> None:
        self._slices = slices
        self._by_id = {offer.id: offer for offer in offered_devices.offers(slices)}
        self._whole: set[offered_devices.ID] = set()
        self._gone: set[tuple[str, str]] = set()
        """Driver and name of the pools of which a device in use has gone."""
        self._shares: list[tuple[Offer, dict[str, Fraction]]] = []
        """Shared devices, each with what is taken of its capacity."""
        for claim in state.claims:
            allocation = claim.get("status", {}).get("allocation") or {}
            for result in allocation.get("devices", {}).get("results") or ():
                self._take(result)

    def _take(self, result: Object) -> None:
        device = offered_devices.id_of(result)
        if result.get("adminAccess"):
            return
        if device not in self._by_id:
            self._gone.add(device[:2])
        elif "shareID" in result:
            amounts = (result.get("consumedCapacity") or {}).items()
            consumed = {name: offered_devices.amount(text) for name, text in amounts}
            self._shares.append((self._by_id[device], consumed))
        if "shareID" not in result:
            self._whole.add(device)

    def has_room_for(self, picks: Sequence[Pick]) -> bool:
        """Return whether these devices are free, beside what is taken already."""
        counted = [(wish, offer) for wish, offer in picks if not wish.is_admin]
        whole = [offer.id for _, offer in counted if not offer.is_shared]
        shared = {offer.id for offer, _ in self._shares}
        if len({*whole}) < len(whole) or not shared.isdisjoint(whole):
            return False
        if not self._whole.isdisjoint(offer.id for _, offer in counted):
            return False
        shares = [(offer, wish.amounts(offer) or {}) for wish, offer in picks if offer.is_shared]
        return self._has_capacity(shares) and self._has_counters([offer for _, offer in counted])

    def _has_capacity(self, shares: Sequence[tuple[Offer, dict[str, Fraction]]]) -> bool:
        used: dict[tuple[Any, ...], Fraction] = collections.defaultdict(Fraction)
        for offer, amounts in (*self._shares, *shares):
            for name, amount in amounts.items():
                used[*offer.id, name] += amount
        return all(
            used[*offer.id, name] <= quantities.amount(declared["value"])
            for offer, _ in shares
            for name, declared in (offer.device.get("capacity") or {}).items()
        )

    def _has_counters(self, more: Sequence[Offer]) -> bool:
        if any(o.device.get("consumesCounters") and o.id[:2] in self._gone for o in more):
            return False
        ids = self._whole | {offer.id for offer, _ in self._shares} | {offer.id for offer in more}
        used = offered_devices.used_counters(self._by_id[it] for it in ids if it in self._by_id)
        declared = offered_devices.counters(self._slices)
        return all(used[place] <= total for place, total in declared.items())
