"""Finds what stands still in a state of the world although it could go on.

A pod that could run and does not, an allocation without a user, a deletion without an end. Time is
not considered: in a moving world such objects are ordinary, and only if they stay are they stuck
(see `claim_progress`).
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from harness.checks import world_states
from harness.checks.devices import node_selectors
from harness.checks.nodes import extended_resources
from harness.checks.observed import observed_claims, observed_pods
from harness.checks.progress import (
    device_search,
    device_supply,
    node_choices,
    request_fits,
)

RESERVATIONS_MAX = 256
"""Pods that can share a claim; the API's limit."""
NAMES_MAX = 5
"""Pods that a text names."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """Something that could go on."""

    summary: str
    text: str
    """One sentence without its period."""
    involved: tuple[world_states.Object, ...]
    is_garbage: bool = False
    """A claim without reservation that the garbage collector has to remove: a scheduler that could
    not bind its pod has taken the reservation back, and left the allocation."""
    is_of_kubelet: bool = False
    """A pod with all its claims, or a deleted one, that only waits for the kubelet of its node."""

    @property
    def is_leak(self) -> bool:
        """Return whether a claim is kept that no pod needs; otherwise, a pod does not go on."""
        return isinstance(self.involved[0], observed_claims.Claim)


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """The objects that stand still, and the doubts of an observer."""

    stuck: list[Stuck]
    doubts: list[str]
    """Why it is unknown if more could go on."""
    waiting: int
    """Pods that cannot run, as the devices are in use, or a claim is missing."""
    robbed: int = 0
    """Pods that stand still, and their claims, because the API server removed an allocated claim in
    spite of its finalizer; none of them is stuck."""


@dataclasses.dataclass(slots=True)
class _Waiting:
    """A pod that waits for devices."""

    pod: observed_pods.Pod
    claims: list[observed_claims.Claim]
    """Its claims without an allocation, or with one that has to be freed."""
    nodes: Collection[str] | None
    """Nodes of its other claims, and those where it may run; None: any node."""
    extended: Mapping[tuple[str, ...], int] = dataclasses.field(default_factory=dict)
    """Devices for extended resources, by their kind, for which there is no claim yet."""

    @property
    def key(self) -> tuple[str, ...]:
        """The UIDs of what the devices are for: the claims, which several pods may share."""
        own = (self.pod.metadata.uid,) if self.extended else ()
        return (*(claim.metadata.uid for claim in self.claims), *own)

    def may_be_on(self, node: str) -> bool:
        return self.nodes is None or node in self.nodes


def find(state: world_states.WorldState, settings: Mapping[str, Any]) -> Findings:
    """Return what could go on; `settings` are those of the plan."""
    return _Search(state, settings).findings()


class _Search:
    """A search through one state."""

    def __init__(self, state: world_states.WorldState, settings: Mapping[str, Any]) -> None:
        self._pods, self._nodes = state.pods, state.nodes
        self._allocatable = state.allocatable
        self._robbed, self._groups = state.robbed, state.groups
        self._claims = {claim.metadata.key: claim for claim in state.claims.values()}
        self._extended = extended_resources.ExtendedResource(settings)
        self._extended_claims = extended_resources.claims_by_pod(state.claims.values())
        self._supply = device_supply.DeviceSupply(state)
        fits = request_fits.RequestFits(state, settings)
        self._search_devices = device_search.DeviceSearch(self._supply, fits)
        self._stuck: list[Stuck] = []
        self._doubts: dict[str, None] = {}
        self._queue: list[_Waiting] = []
        self._promised: dict[tuple[str, ...], device_search.Found] = {}
        """Node and devices for the claims with these uids, which several pods may share."""
        self._refused: dict[object, device_search.Found] = {}
        """The answer for pods that ask for the same, as there was nothing for them: what is left of
        the devices never becomes more."""
        self._blocked = 0
        self._robbed_count = 0
        self._wanted = set(_wanted(self._pods.values()))

    def findings(self) -> Findings:
        """Examine every pod, then share out the idle devices, then examine every claim."""
        for pod in sorted(self._pods.values(), key=_key):
            self._examine_pod(pod)
        for waiting in self._queue:
            self._give_devices(waiting)
        for claim in sorted(self._claims.values(), key=_key):
            self._examine_claim(claim)
        return Findings(self._stuck, list(self._doubts), self._blocked, self._robbed_count)

    # -------------------------------------------------------------------------- pods

    def _examine_pod(self, pod: observed_pods.Pod) -> None:
        if pod.metadata.deletion_timestamp:
            if not self._lacks(pod.spec.node_name):
                is_ended = bool(pod.spec.node_name) and not pod.metadata.finalizers
                self._add(pod, "is not removed", _deletion(pod), is_of_kubelet=is_ended)
        elif pod.has_ended or pod.runs or pod.spec.scheduling_gates:
            return
        elif pod.spec.node_name and self._lacks(pod.spec.node_name):
            self._blocked += 1  # its node was deleted: no kubelet runs it
        elif pod.status.phase == "Running":
            told = f"has run on {pod.spec.node_name}, but its containers do not run again"
            self._add(pod, "does not run again", told, is_of_kubelet=self._has_claims(pod))
        elif pod.spec.node_name:
            told = f"is bound to {pod.spec.node_name}, but does not run"
            self._add(pod, "does not run", told, is_of_kubelet=self._has_claims(pod))
        else:
            self._examine_unbound(pod)

    def _has_claims(self, pod: observed_pods.Pod) -> bool:
        uid, namespace = pod.metadata.uid, pod.metadata.namespace
        claims = [self._claims.get(f"{namespace}/{name}") for _, name in _claim_names(pod)]
        return all(
            claim is not None
            and claim.status.allocation is not None
            and uid in (item.uid for item in claim.status.reserved_for or ())
            for claim in claims
        )

    def _lacks(self, node: str) -> bool:
        return bool(node) and self._nodes is not None and node not in self._nodes

    def _examine_unbound(self, pod: observed_pods.Pod) -> None:
        """Look at the claims of a pod that has no node, and at those that it is to get.

        Without any, nothing is known about it.
        """
        extended = self._extended.kinds_for(pod)
        if not pod.spec.resource_claims and not extended:
            return
        claims: list[observed_claims.Claim] = []
        if extended and (made := self._extended_claims.get(pod.metadata.uid)) is not None:
            claims, extended = [made], {}
        for entry, name in _claim_names(pod):
            claim = self._claims.get(f"{pod.metadata.namespace}/{name}")
            is_generated = entry.resource_claim_name is None
            if is_generated and (claim is None or not self._is_made_for(claim, pod)):
                self._add(pod, "has no claim", "waits for its claim, which is not generated")
                return
            if claim is None or not _is_usable(claim, pod):
                self._blocked += 1
                return
            if claim not in claims:  # two entries may name the same one
                claims.append(claim)
        self._examine_with_claims(pod, claims, extended)

    def _examine_with_claims(
        self,
        pod: observed_pods.Pod,
        claims: list[observed_claims.Claim],
        extended: Mapping[tuple[str, ...], int],
    ) -> None:
        try:
            allowed = node_choices.allowed(pod.spec, self._nodes)
        except node_choices.UnclearError:
            self._blocked += 1
            self._doubt(pod, "may or may not be able to run on a node")
            return
        misplaced = [claim for claim in claims if self._is_misplaced(claim, allowed)]
        placed = [claim for claim in claims if claim not in misplaced]
        nodes = self._nodes_of(placed)
        if nodes is not None and not nodes:
            self._blocked += 1  # its claims are on different nodes
        elif any(self._is_used_beside(claim, pod) for claim in misplaced):
            self._blocked += 1  # another pod keeps its claim on a node where it must not run
        else:
            among = [item for item in (nodes, allowed) if item is not None]
            chosen = set.intersection(*among) if among else None
            needed = [claim for claim in placed if claim.status.allocation is None]
            self._examine_on(chosen, _Waiting(pod, [*needed, *misplaced], chosen, extended), claims)

    def _examine_on(
        self, nodes: set[str] | None, waiting: _Waiting, claims: list[observed_claims.Claim]
    ) -> None:
        """Look at a pod that may run on these nodes, None: on any; `claims` are all of its own."""
        if nodes is not None and not nodes:
            self._blocked += 1  # there is no node where it may run
        elif waiting.claims or waiting.extended:
            self._queue.append(waiting)
        elif nodes is not None and self._nodes_of(claims) is None:
            self._blocked += 1
            self._doubt(waiting.pod, "may or may not reach its devices")
        else:
            names = ", ".join(claim.metadata.name for claim in claims)
            told = f"is not bound, although its claim {names} is allocated"
            self._add(waiting.pod, "is not bound", told, *claims)

    def _is_misplaced(self, claim: observed_claims.Claim, allowed: set[str] | None) -> bool:
        """Return whether a claim has devices of nodes where its pod must not run.

        A scheduler frees such a claim, unless another pod uses it.
        """
        nodes = self._nodes_of([claim])
        return allowed is not None and nodes is not None and nodes.isdisjoint(allowed)

    def _is_used_beside(self, claim: observed_claims.Claim, pod: observed_pods.Pod) -> bool:
        others = [item for item in claim.status.reserved_for or () if item.uid != pod.metadata.uid]
        return any(map(self._is_user, others))

    def _nodes_of(self, claims: Iterable[observed_claims.Claim]) -> set[str] | None:
        """Return the nodes from which all allocated claims can be used; None: any, or not known."""
        found = [nodes for claim in claims if (nodes := self._nodes_of_claim(claim)) is not None]
        return set.intersection(*found) if found else None

    def _nodes_of_claim(self, claim: observed_claims.Claim) -> set[str] | None:
        """Return the nodes that an allocation admits, or else those of its devices."""
        allocation = claim.status.allocation
        if allocation is None:
            return None
        if allocation.node_selector is not None:
            return self._admitted(allocation.node_selector)
        return {node for item in claim.results if (node := self._supply.node_of(item.id))} or None

    def _admitted(self, selector: object) -> set[str] | None:
        names = node_selectors.only_names(selector)
        if names is not None or self._nodes is None:
            return None if names is None else set(names)
        try:
            return {
                name
                for name, labels in self._nodes.items()
                if node_selectors.admits(selector, name, labels)
            }
        except node_selectors.UnknownSelectorError:
            return None

    def _give_devices(self, waiting: _Waiting) -> None:
        found = self._promised.get(waiting.key) or self._search(waiting)
        if found.where is None or not waiting.may_be_on(found.where[0]):
            self._blocked += 1
            if found.is_doubtful:
                self._doubt(waiting.pod, "may or may not be satisfied by an idle device")
            return
        node, names = found.where
        self._promised[waiting.key] = found
        room = self._allocatable.get(node)
        if not node_choices.has_room(waiting.pod, node, room, self._pods.values()):
            self._blocked += 1
            self._doubt(waiting.pod, f"may or may not have enough CPU and memory on {node}")
            return
        free = _free(names, admin=found.admin)
        told = f"waits for devices, although {free} on {node} and would do"
        self._add(waiting.pod, f"waits while {free}", told, *waiting.claims)

    def _search(self, waiting: _Waiting) -> device_search.Found:
        nodes = waiting.nodes
        asked = tuple(msgspec.json.encode(claim.spec) for claim in waiting.claims)
        beside = waiting.extended
        key = asked, tuple(beside.items()), None if nodes is None else frozenset(nodes)
        if key in self._refused:
            return self._refused[key]
        found = self._search_devices.search(waiting.claims, nodes, beside=beside)
        if found.where is None:
            self._refused[key] = found
        return found

    # ------------------------------------------------------------------------ claims

    def _examine_claim(self, claim: observed_claims.Claim) -> None:
        if self._has_user(claim):
            self._examine_reservations(claim)
            return
        owner = claim.metadata.owner
        if claim.metadata.deletion_timestamp:
            self._add(claim, "is not removed", _deletion(claim))
        elif owner is not None and self._is_gone(owner):
            told = "was generated for a pod that is gone, but is not deleted"
            is_garbage = not claim.status.reserved_for
            self._add(claim, "outlives its pod", told + _holding(claim), is_garbage=is_garbage)
        elif claim.status.allocation is not None:
            told = "is allocated, but no pod uses it"
            self._add(claim, "is leaked", told + _holding(claim))

    def _examine_reservations(self, claim: observed_claims.Claim) -> None:
        stale = [item for item in claim.status.reserved_for or () if not self._is_user(item)]
        if stale:
            names = ", ".join(f"{item.name} (uid {item.uid})" for item in stale[:NAMES_MAX])
            more = f" and {len(stale) - NAMES_MAX} more" * (len(stale) > NAMES_MAX)
            told = f"is still reserved for {len(stale)} pods that are gone or ended: {names}{more}"
            kind = "PodGroup" if stale[0].resource == "podgroups" else "pod"
            self._add(claim, f"is reserved for a {kind} that is gone", told)

    def _has_user(self, claim: observed_claims.Claim) -> bool:
        if any(self._is_user(item) for item in claim.status.reserved_for or ()):
            return True
        return not claim.metadata.deletion_timestamp and claim.metadata.key in self._wanted

    def _is_user(self, consumer: observed_claims.Consumer) -> bool:
        is_known = consumer.resource in ("pods", "podgroups")
        return not is_known or not self._is_gone(consumer.uid)

    def _is_gone(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        return uid not in self._groups and (pod is None or pod.has_ended)

    def _is_made_for(self, claim: observed_claims.Claim, pod: observed_pods.Pod) -> bool:
        owner = claim.metadata.owner or ""
        group = self._groups.get(owner)
        return owner == pod.metadata.uid or (group is not None and group.metadata.name == pod.group)

    # ----------------------------------------------------------------------- results

    def _add(
        self,
        about: world_states.Object,
        summary: str,
        told: str,
        *others: world_states.Object,
        **facts: bool,
    ) -> None:
        if self._is_robbed(about):
            self._robbed_count += 1
            return
        kind, meta = about.KIND.removeprefix("Resource").lower(), about.metadata
        self._stuck.append(
            Stuck(
                summary=f"{kind} {meta.name} {summary}",
                text=f"{kind} {meta.key} (uid {meta.uid}) {told}",
                involved=(about, *others),
                **facts,
            )
        )

    def _is_robbed(self, about: world_states.Object) -> bool:
        """Return whether the API server removed a claim of a pod, or of a pod of this claim."""
        match about:
            case observed_pods.Pod():
                return about.metadata.uid in self._robbed
            case observed_claims.Claim():
                return not self._robbed.isdisjoint(about.pods)
            case _:
                return False

    def _doubt(self, pod: observed_pods.Pod, why: str) -> None:
        self._doubts[f"pod {pod.metadata.name} {why}"] = None


def _key(obj: world_states.Object) -> str:
    return obj.metadata.key


def _claim_names(
    pod: observed_pods.Pod,
) -> Iterator[tuple[observed_pods.ClaimEntry, str | None]]:
    """Yield the entries of a pod that need a claim, with its name; None: it is not generated."""
    generated = {item.name: item for item in pod.status.resource_claim_statuses or ()}
    for entry in pod.spec.resource_claims or ():
        if entry.resource_claim_name is not None:
            yield entry, entry.resource_claim_name
        elif entry.name not in generated:
            yield entry, None
        elif (name := generated[entry.name].resource_claim_name) is not None:
            yield entry, name


def _wanted(pods: Iterable[observed_pods.Pod]) -> Iterator[str]:
    for pod in pods:
        if not pod.has_ended and not pod.metadata.deletion_timestamp:
            for _, name in _claim_names(pod):
                yield f"{pod.metadata.namespace}/{name}"
            if (made := pod.status.extended_resource_claim_status) is not None:
                yield f"{pod.metadata.namespace}/{made.resource_claim_name}"


def _is_usable(claim: observed_claims.Claim, pod: observed_pods.Pod) -> bool:
    """Return whether a pod may use a claim, now or once it is allocated."""
    users = [item.uid for item in claim.status.reserved_for or ()]
    has_room = len(users) < RESERVATIONS_MAX or pod.metadata.uid in users
    return has_room and not claim.metadata.deletion_timestamp


def _deletion(obj: world_states.Object) -> str:
    finalizers = ", ".join(obj.metadata.finalizers or ())
    return "was deleted, but is still there" + (f" with finalizers {finalizers}" * bool(finalizers))


def _holding(claim: observed_claims.Claim) -> str:
    held = device_supply.exclusive(claim)
    return f"; it holds {', '.join(held)}" if held else ""


def _free(names: list[str], *, admin: bool) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {verb} {'open to admin access' if admin else 'idle'}"
