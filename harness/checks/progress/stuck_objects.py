"""Finds what stands still in a state of the world: pods that could go on, claims that could go.

A pod that could run and does not, a deletion without an end, a claim that is kept, allocated or
reserved for no pod. Time is not considered: in a moving world such objects are ordinary, and only
if they stay are they stuck (see `claim_progress`).

A pod may run where its node selector and affinity, its claims, and its requests let it. Other
things by which a scheduler chooses nodes are not read: an observer cannot tell about them. A
scheduler that leaves a pod waiting for lack of CPU, memory or places is right, whatever devices are
idle. An init container is counted as if it ran beside the others: this judge may see too little
room.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from harness.checks import findings
from harness.checks.devices import device_catalogue
from harness.checks.nodes import extended_claims
from harness.checks.observed import claim_versions, observed_claims, observed_pods
from harness.checks.progress import device_search, device_supply, world_states
from harness.model import quantities

AMOUNTS = ("cpu", "memory", "ephemeral-storage")
_ONE_POD = {"pods": Fraction(1)}


class UnclearError(ValueError):
    """An observer cannot tell where the pod may run."""


class PodNodes:
    """Where pods of one state may run."""

    def __init__(self, state: world_states.WorldState, supply: device_supply.DeviceSupply) -> None:
        self._state, self._nodes, self._supply = state, state.nodes, supply

    def allowed(self, spec: observed_pods.PodSpec) -> set[str] | None:
        """Return the names of the nodes on which a pod may run; None: any. Raises UnclearError."""
        affinity = spec.affinity or observed_pods.Affinity()
        if affinity.pod_affinity or affinity.pod_anti_affinity or spec.topology_spread_constraints:
            raise UnclearError("expected no affinity to other pods")
        required = affinity.node_affinity.required if affinity.node_affinity else None
        if not spec.node_selector and required is None:
            return None
        if self._nodes is None:
            raise UnclearError("expected nodes with labels")
        try:
            return self._admitted(required, spec.node_selector)
        except device_catalogue.UnknownSelectorError as error:
            raise UnclearError(str(error)) from error

    def of_claims(self, claims: Iterable[observed_claims.Claim]) -> set[str] | None:
        """Return the nodes from which all allocated claims can be used; None: any, or not known."""
        found = [nodes for claim in claims if (nodes := self._of_claim(claim)) is not None]
        return set.intersection(*found) if found else None

    def _of_claim(self, claim: observed_claims.Claim) -> set[str] | None:
        """Return the nodes that an allocation admits, or else those of its devices."""
        allocation = claim.status.allocation
        if allocation is None:
            return None
        if allocation.node_selector is None:
            return {node for it in claim.results if (node := self._supply.node_of(it.id))} or None
        names = device_catalogue.only_names(allocation.node_selector)
        if names is not None or self._nodes is None:
            return None if names is None else set(names)
        try:
            return self._admitted(allocation.node_selector)
        except device_catalogue.UnknownSelectorError:
            return None

    def _admitted(self, selector: Any, labels: Mapping[str, str] | None = None) -> set[str]:
        return {
            name
            for name, known in (self._nodes or {}).items()
            if (labels or {}).items() <= known.items()
            and device_catalogue.admits(selector, name, known)
        }

    def has_room(self, pod: observed_pods.Pod, node: str) -> bool:
        """Return whether a node surely has room for a pod beside those that run or may run there.

        Where its amounts are not known, they suffice for a pod that requests nothing. Raises
        QuantityError for a malformed quantity.
        """
        wanted, allocatable = _requested(pod), self._state.allocatable.get(node)
        if not allocatable:
            return not wanted
        left = collections.defaultdict[str, Fraction](Fraction)
        left |= {name: quantities.amount(str(text)) for name, text in allocatable.items()}
        for beside in self._state.pods.values():
            if beside.spec.node_name == node and not beside.has_ended:
                for name, amount in (_requested(beside) | _ONE_POD).items():
                    left[name] -= amount
        if "pods" in left:
            wanted |= _ONE_POD
        return all(left[name] >= amount for name, amount in wanted.items())


def _requested(pod: observed_pods.Pod) -> dict[str, Fraction]:
    """Return the amounts that the containers of a pod request, without those of nothing."""
    found = collections.defaultdict[str, Fraction](Fraction)
    for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())):
        for name, text in (container.resources.requests or {}).items():
            if name in AMOUNTS:
                found[name] += quantities.amount(str(text))
    return {name: amount for name, amount in found.items() if amount}


# ---------------------------------------------------------------------------------- pods
RESERVATIONS_MAX = 256
"""Pods that can share a claim; the API's limit."""


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

    def finding(self, rest_s: float, *, prefix: str = "", still: str) -> findings.Finding:
        return findings.Finding(
            summary=prefix + self.summary,
            text=f"{prefix}{self.text}. {still} for {rest_s:.1f} s",
            versions=[int(obj.metadata.resource_version) for obj in self.involved],
            objects=[obj.involved for obj in self.involved],
        )


def described(
    about: world_states.Object, summary: str, told: str, *others: world_states.Object, **facts: bool
) -> Stuck:
    kind, meta = about.KIND.removeprefix("Resource").lower(), about.metadata
    return Stuck(
        summary=f"{kind} {meta.name} {summary}",
        text=f"{kind} {meta} {told}",
        involved=(about, *others),
        **facts,
    )


def undeleted(obj: world_states.Object, **facts: bool) -> Stuck:
    finalizers = ", ".join(obj.metadata.finalizers or ())
    with_some = f" with finalizers {finalizers}" * bool(finalizers)
    return described(obj, "is not removed", f"was deleted, but is still there{with_some}", **facts)


@dataclasses.dataclass(slots=True)
class StuckPods:
    """The pods that stand still, and the doubts of an observer."""

    stuck: list[Stuck] = dataclasses.field(default_factory=list)
    doubts: dict[str, None] = dataclasses.field(default_factory=dict)
    """Why it is unknown if more could go on."""
    waiting: int = 0
    """Pods that cannot run, as the devices are in use, or a claim is missing."""
    robbed: int = 0
    """Pods that stand still because the API server removed an allocated claim in spite of its
    finalizer; none of them is stuck."""


def find_pods(state: world_states.WorldState, settings: Mapping[str, Any]) -> StuckPods:
    """Return the pods that could go on; `settings` are those of the plan."""
    return _Search(state, settings).run()


@dataclasses.dataclass(slots=True)
class _Waiting:
    """A pod that waits for devices."""

    pod: observed_pods.Pod
    claims: list[observed_claims.Claim]
    """Its claims without an allocation, or with one that has to be freed."""
    nodes: Collection[str] | None
    """Nodes of its other claims, and those where it may run; None: any node."""
    extended: Mapping[tuple[str, ...], int]
    """Devices for extended resources, by their kind, for which there is no claim yet."""

    @property
    def key(self) -> tuple[str, ...]:
        """The UIDs of what the devices are for: the claims, which several pods may share."""
        own = (self.pod.metadata.uid,) if self.extended else ()
        return (*(claim.metadata.uid for claim in self.claims), *own)


class _Search:
    def __init__(self, state: world_states.WorldState, settings: Mapping[str, Any]) -> None:
        self._state = state
        self._claims = {claim.metadata.key: claim for claim in state.claims.values()}
        self._extended = extended_claims.ExtendedResource(settings)
        self._extended_claims = {
            claim.metadata.owner: claim
            for claim in state.claims.values()
            if claim_versions.EXTENDED in (claim.metadata.annotations or {})
        }
        self._devices = device_search.DeviceSearch(state, settings)
        self._nodes = PodNodes(state, self._devices.supply)
        self._found = StuckPods()
        self._queue: list[_Waiting] = []
        self._promised: dict[tuple[str, ...], device_search.Found] = {}
        """Node and devices for the claims with these uids, which several pods may share."""
        self._refused: dict[object, device_search.Found] = {}
        """The answer for pods that ask for the same, as there was nothing for them: what is left of
        the devices never becomes more."""

    def run(self) -> StuckPods:
        """Examine every pod, then share out the idle devices."""
        for pod in sorted(self._state.pods.values(), key=lambda pod: pod.metadata.key):
            self._examine(pod)
        for waiting in self._queue:
            self._give_devices(waiting)
        return self._found

    def _examine(self, pod: observed_pods.Pod) -> None:
        node = pod.spec.node_name
        if pod.metadata.deletion_timestamp:
            if not self._lacks(node):
                self._add(undeleted(pod, is_of_kubelet=bool(node) and not pod.metadata.finalizers))
        elif pod.has_ended or pod.runs or pod.spec.scheduling_gates:
            return
        elif not node:
            self._examine_unbound(pod)
        elif self._lacks(node):
            self._found.waiting += 1  # its node was deleted: no kubelet runs it
        else:
            again = pod.status.phase == "Running"
            summary = "does not run again" if again else "does not run"
            told = f"is bound to {node}, but does not run"
            if again:
                told = f"has run on {node}, but its containers do not run again"
            self._add(described(pod, summary, told, is_of_kubelet=self._has_claims(pod)))

    def _lacks(self, node: str) -> bool:
        return bool(node) and self._state.nodes is not None and node not in self._state.nodes

    def _has_claims(self, pod: observed_pods.Pod) -> bool:
        uid, namespace = pod.metadata.uid, pod.metadata.namespace
        claims = [self._claims.get(f"{namespace}/{name}") for _, name in claim_names(pod)]
        return all(
            claim is not None
            and claim.status.allocation is not None
            and uid in (item.uid for item in claim.status.reserved_for or ())
            for claim in claims
        )

    # ------------------------------------------------------------------- pods without a node

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
        for entry, name in claim_names(pod):
            claim = self._claims.get(f"{pod.metadata.namespace}/{name}")
            is_generated = entry.resource_claim_name is None
            if is_generated and (claim is None or not self._is_made_for(claim, pod)):
                told = "waits for its claim, which is not generated"
                self._add(described(pod, "has no claim", told))
                return
            if claim is None or not _is_usable(claim, pod):
                self._found.waiting += 1
                return
            if claim not in claims:  # two entries may name the same one
                claims.append(claim)
        self._examine_with_claims(pod, claims, extended)

    def _is_made_for(self, claim: observed_claims.Claim, pod: observed_pods.Pod) -> bool:
        owner = claim.metadata.owner or ""
        group = self._state.groups.get(owner)
        return owner == pod.metadata.uid or (group is not None and group.metadata.name == pod.group)

    def _examine_with_claims(
        self,
        pod: observed_pods.Pod,
        claims: list[observed_claims.Claim],
        extended: Mapping[tuple[str, ...], int],
    ) -> None:
        try:
            allowed = self._nodes.allowed(pod.spec)
        except UnclearError:
            self._doubt(pod, "may or may not be able to run on a node")
            return
        misplaced = [claim for claim in claims if self._is_misplaced(claim, allowed)]
        placed = [claim for claim in claims if claim not in misplaced]
        among = [item for item in (self._nodes.of_claims(placed), allowed) if item is not None]
        nodes = set.intersection(*among) if among else None
        needed = [*(claim for claim in placed if claim.status.allocation is None), *misplaced]
        if nodes is not None and not nodes:
            self._found.waiting += 1  # there is no node where it may run, and has its claims
        elif any(
            item.uid != pod.metadata.uid and is_user(self._state, item)
            for claim in misplaced
            for item in claim.status.reserved_for or ()
        ):
            self._found.waiting += 1  # another pod keeps its claim on a node where it must not run
        elif needed or extended:
            self._queue.append(_Waiting(pod, needed, nodes, extended))
        elif nodes is not None and self._nodes.of_claims(claims) is None:
            self._doubt(pod, "may or may not reach its devices")
        else:
            names = ", ".join(claim.metadata.name for claim in claims)
            told = f"is not bound, although its claim {names} is allocated"
            self._add(described(pod, "is not bound", told, *claims))

    def _is_misplaced(self, claim: observed_claims.Claim, allowed: set[str] | None) -> bool:
        """Return whether a claim has devices of nodes where its pod must not run.

        A scheduler frees such a claim, unless another pod uses it.
        """
        nodes = self._nodes.of_claims([claim])
        return allowed is not None and nodes is not None and nodes.isdisjoint(allowed)

    # ------------------------------------------------------------------------- idle devices

    def _give_devices(self, waiting: _Waiting) -> None:
        found = self._promised.get(waiting.key) or self._search(waiting)
        if found.where is None or not (waiting.nodes is None or found.where[0] in waiting.nodes):
            if found.is_doubtful:
                self._doubt(waiting.pod, "may or may not be satisfied by an idle device")
            else:
                self._found.waiting += 1
            return
        node, names = found.where
        self._promised[waiting.key] = found
        if not self._nodes.has_room(waiting.pod, node):
            self._doubt(waiting.pod, f"may or may not have enough CPU and memory on {node}")
            return
        verb = "is" if len(names) == 1 else "are"
        free = f"{', '.join(names)} {verb} {'open to admin access' if found.admin else 'idle'}"
        told = f"waits for devices, although {free} on {node} and would do"
        self._add(described(waiting.pod, f"waits while {free}", told, *waiting.claims))

    def _search(self, waiting: _Waiting) -> device_search.Found:
        nodes, beside = waiting.nodes, waiting.extended
        asked = tuple(msgspec.json.encode(claim.spec) for claim in waiting.claims)
        key = asked, tuple(beside.items()), None if nodes is None else frozenset(nodes)
        if key in self._refused:
            return self._refused[key]
        found = self._devices.search(waiting.claims, nodes, beside=beside)
        if found.where is None:
            self._refused[key] = found
        return found

    # ------------------------------------------------------------------------------ results

    def _add(self, found: Stuck) -> None:
        if found.involved[0].metadata.uid in self._state.robbed:
            self._found.robbed += 1
        else:
            self._found.stuck.append(found)

    def _doubt(self, pod: observed_pods.Pod, why: str) -> None:
        self._found.doubts[f"pod {pod.metadata.name} {why}"] = None


# ------------------------------------------------------------------------- pods and claims


def claim_names(pod: observed_pods.Pod) -> Iterator[tuple[observed_pods.ClaimEntry, str | None]]:
    """Yield the entries of a pod that need a claim, with its name; None: it is not generated."""
    generated = {item.name: item for item in pod.status.resource_claim_statuses or ()}
    for entry in pod.spec.resource_claims or ():
        if entry.resource_claim_name is not None:
            yield entry, entry.resource_claim_name
        elif entry.name not in generated:
            yield entry, None
        elif (name := generated[entry.name].resource_claim_name) is not None:
            yield entry, name


def is_gone(state: world_states.WorldState, uid: str) -> bool:
    pod = state.pods.get(uid)
    return uid not in state.groups and (pod is None or pod.has_ended)


def is_user(state: world_states.WorldState, consumer: observed_claims.Consumer) -> bool:
    is_known = consumer.resource in ("pods", "podgroups")
    return not is_known or not is_gone(state, consumer.uid)


def _is_usable(claim: observed_claims.Claim, pod: observed_pods.Pod) -> bool:
    users: Sequence[str] = [item.uid for item in claim.status.reserved_for or ()]
    has_room = len(users) < RESERVATIONS_MAX or pod.metadata.uid in users
    return has_room and not claim.metadata.deletion_timestamp


# -------------------------------------------------------------------------------- claims
NAMES_MAX = 5
"""Pods that a text names."""


@dataclasses.dataclass(frozen=True, slots=True)
class LeakedClaims:
    """The claims that could go."""

    stuck: list[Stuck]
    robbed: int
    """Claims of pods of which the API server removed another claim in spite of its finalizer."""


def find_claims(state: world_states.WorldState) -> LeakedClaims:
    wanted, stuck, robbed = set(_wanted(state)), list[Stuck](), 0
    for claim in sorted(state.claims.values(), key=lambda claim: claim.metadata.key):
        found = _examined(state, claim, wanted)
        is_robbed = found is not None and not state.robbed.isdisjoint(claim.pods)
        robbed += is_robbed
        if found is not None and not is_robbed:
            stuck.append(found)
    return LeakedClaims(stuck, robbed)


def _wanted(state: world_states.WorldState) -> Iterator[str]:
    for pod in state.pods.values():
        if not pod.has_ended and not pod.metadata.deletion_timestamp:
            for _, name in claim_names(pod):
                yield f"{pod.metadata.namespace}/{name}"
            if (made := pod.status.extended_resource_claim_status) is not None:
                yield f"{pod.metadata.namespace}/{made.resource_claim_name}"


def _examined(
    state: world_states.WorldState, claim: observed_claims.Claim, wanted: set[str]
) -> Stuck | None:
    users, meta = claim.status.reserved_for or (), claim.metadata
    stale = [item for item in users if not is_user(state, item)]
    if len(stale) < len(users) or (not meta.deletion_timestamp and meta.key in wanted):
        return _stale(claim, stale) if stale else None
    if meta.deletion_timestamp:
        return undeleted(claim)
    held = device_supply.exclusive(claim)
    holding = f"; it holds {', '.join(held)}" if held else ""
    if meta.owner is not None and is_gone(state, meta.owner):
        told = f"was generated for a pod that is gone, but is not deleted{holding}"
        return described(claim, "outlives its pod", told, is_garbage=not users)
    if claim.status.allocation is not None:
        told = f"is allocated, but no pod uses it{holding}"
        return described(claim, "is leaked", told)
    return None


def _stale(claim: observed_claims.Claim, stale: list[observed_claims.Consumer]) -> Stuck:
    names = ", ".join(f"{item.name} (uid {item.uid})" for item in stale[:NAMES_MAX])
    more = f" and {len(stale) - NAMES_MAX} more" * (len(stale) > NAMES_MAX)
    told = f"is still reserved for {len(stale)} pods that are gone or ended: {names}{more}"
    kind = "PodGroup" if stale[0].resource == "podgroups" else "pod"
    return described(claim, f"is reserved for a {kind} that is gone", told)
