"""Which pods were bound by a scheduler, and when their claims were reserved for them.

A pod that names its node when it is created was not scheduled; the claim controller reserves its
claims later. Such pods are left out.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from harness.checks.observed import (
    folders,
    interning,
    observations,
    observed_claims,
    observed_pods,
)
from harness.history import records


class Binding(NamedTuple):
    """A pod and the commit that bound it to a node."""

    namespace: str
    name: str
    uid: str
    version: int
    node: str
    claims: dict[str, str | None]
    """Entry of the pod -> name of its claim; None: its status has named none so far."""
    group: str = ""
    """Name of the pod's PodGroup; empty: it has none."""


@dataclasses.dataclass(slots=True)
class Reservation:
    """A span of resourceVersions in which a claim was allocated, and reserved for a pod."""

    since: int
    node_selector: Any
    """The node selector of the allocation, as JSON; None: every node."""
    until: int | None = None
    """Exclusive; None: to the end of the history."""


class PodBindings(folders.Folder):
    """The bindings of a run, and the reservations behind them."""

    def __init__(self) -> None:
        self.bindings: list[Binding] = []
        """Ordered as they were observed."""
        self.gaps: set[str] = set()
        """Resources whose versions may be missing."""
        self.robbed: set[str] = set()
        """UIDs of pods whose allocated claim the API server removed in spite of its finalizer."""
        self._waiting: dict[str, dict[str, str | None]] = {}
        """Uid of a pod that is not bound -> its claims, as in `Binding`."""
        self._reservations: dict[tuple[str, str, str], list[Reservation]] = {}
        """Keyed by namespace and name of the claim and its user, see `_users`, in order."""
        self._open: dict[str, dict[str, Reservation]] = {}
        """Uid of a claim -> uid of a pod -> the reservation that lasts."""
        self._selectors: dict[bytes, Any] = {}
        """The node selectors by their content, so that equal ones are kept once."""
        self._equal_selectors = interning.DerivedValues(self._first_equal)

    # ------------------------------------------------------------------- observations

    def see_pod(self, seen: observations.SeenPod) -> None:
        meta, node = seen.object.metadata, seen.object.spec.node_name
        if seen.is_gone:
            self._waiting.pop(meta.uid, None)
        elif not node:
            named = _named_claims(seen.object)
            known = self._waiting.setdefault(meta.uid, named)
            if known is not named:
                _update(known, named)
        elif meta.uid in self._waiting:
            self._bind(seen, self._waiting.pop(meta.uid))

    def _bind(self, seen: observations.SeenPod, known: dict[str, str | None]) -> None:
        if seen.type == "LISTED":  # it was bound at some version before
            return
        meta = seen.object.metadata
        claims = known
        _update(claims, _named_claims(seen.object))
        if claims:
            self.bindings.append(
                Binding(
                    namespace=meta.namespace,
                    name=meta.name,
                    uid=meta.uid,
                    version=seen.version,
                    node=seen.object.spec.node_name,
                    claims=claims,
                    group=seen.object.group,
                )
            )

    def see_claim(self, seen: observations.SeenClaim) -> None:
        claim = seen.object
        self.robbed |= observations.robbed(seen)
        users = frozenset[str]() if seen.is_gone else _users(claim)
        lasting = self._open.get(claim.metadata.uid, {})
        if not users and not lasting:
            return
        selector = self._selector(claim) if users else None
        for pod in [pod for pod, item in lasting.items() if _ends(pod, item, users, selector)]:
            lasting.pop(pod).until = seen.version
        for pod in users - lasting.keys():
            lasting[pod] = Reservation(seen.version, selector)
            key = claim.metadata.namespace, claim.metadata.name, pod
            self._reservations.setdefault(key, []).append(lasting[pod])
        if lasting:
            self._open[claim.metadata.uid] = lasting
        else:
            self._open.pop(claim.metadata.uid, None)

    def _selector(self, claim: observed_claims.Claim) -> Any:
        """Return the node selector of a claim's allocation; the same object for equal ones."""
        allocation = claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            return None
        return self._equal_selectors.of(allocation.node_selector)

    def _first_equal(self, selector: Any) -> Any:
        return self._selectors.setdefault(msgspec.json.encode(selector), selector)

    def see_gap(self, gap: records.Gap) -> None:
        """Note that versions of a resource may be missing."""
        self.gaps.add(gap.resource)

    # ------------------------------------------------------------------- reservations

    def reservations(self, binding: Binding, claim: str) -> Iterator[Reservation]:
        """Yield the spans before a binding in which a claim was reserved for its pod or group."""
        for user in filter(None, (binding.uid, binding.group and f"group {binding.group}")):
            for item in self._reservations.get((binding.namespace, claim, user), ()):
                if item.since < binding.version:
                    yield item


def _update(known: dict[str, str | None], named: dict[str, str | None]) -> None:
    """Add the entries of a newer version; a name that is known stays if it is not named again."""
    for entry, name in named.items():
        if name or entry not in known:
            known[entry] = name


def _named_claims(pod: observed_pods.Pod) -> dict[str, str | None]:
    """Return entry -> name of its claim, without the entries that need none; None: not known."""
    made = {
        item.name: item.resource_claim_name for item in pod.status.resource_claim_statuses or ()
    }
    found: dict[str, str | None] = {}
    for entry in pod.spec.resource_claims or ():
        if entry.resource_claim_name:
            found[entry.name] = entry.resource_claim_name
        elif made.get(entry.name) or entry.name not in made:
            found[entry.name] = made.get(entry.name)
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        found["extended resources"] = extended.resource_claim_name
    return found


def _users(claim: observed_claims.Claim) -> frozenset[str]:
    """Return the uids of pods, and `group …`, that may use a claim; empty without an allocation."""
    if claim.status.allocation is None:
        return frozenset()
    return frozenset(
        item.uid if item.resource == observations.PODS else f"group {item.name}"
        for item in claim.status.reserved_for or ()
        if item.resource in (observations.PODS, observations.POD_GROUPS)
    )


def _ends(pod: str, item: Reservation, users: frozenset[str], selector: Any) -> bool:
    return pod not in users or item.node_selector is not selector
