"""The small worlds that can be explored, and their sizes."""

import dataclasses
from collections.abc import Mapping

from harness import errors, suggestions

Sizes = Mapping[str, int]
"""Changed sizes of a world."""
LEAST = {
    "claims": 2,
    "devices": 1,
    "binders": 1,
    "users": 1,
    "rounds": 1,
    "faults_max": 0,
}
"""Sizes that can be changed, with their minimum.

The late pods, which some worlds are about, are not among them.
"""
_MOST = 64
"""Maximum of every size."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hazard:
    """A way in which the correct scheduler still allocates a device twice, as upstream does."""

    hypothesis: str
    """Its short name, such as H1; the README of the scenarios describes it."""
    remedy: str
    """Name of the remedy with which the scheduler does not fail."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A world to explore; small, because the number of interleavings grows fast."""

    title: str
    """One line that describes the world."""
    claims: int
    """Number of claims, each with its own pod."""
    devices: int
    """Number of devices, all on one node."""
    binders: int = 2
    """Number of pods that may be bound at the same time."""
    late_pods: int = 0
    """Number of pods created when the first claim is allocated instead of at the beginning."""
    faults: tuple[str, ...] = ()
    """Kinds of faults, as in `[[faults]]` of scenarios; the strategy chooses when they happen.

    `lose-response`, `lose-request`, `delay-request`: of a write. `drop-watch`, `expire-watch`: of a
    watch. `touch-objects`: just before an object is replaced. `reallocate-claims`: another writer
    moves the first claim to the last device, in two writes; the late pods are created when all is
    at rest. `take-over`: the scheduler is stopped after its first write of a binding, and another
    takes over; the late pods are created at that moment. These two always happen once.
    """
    faults_max: int = 0
    """Number of faults of the other kinds that may happen, all together."""
    users: int = 0
    """Number of users.

    Each repeatedly creates a pod with a claim template, waits until it runs, deletes it, and waits
    until it is gone. With users, the claim controller and the kubelets are part of the world.
    """
    rounds: int = 1
    """Number of pods that each user creates."""
    hazard: Hazard | None = None
    """Why the correct scheduler fails in this world, as upstream; None: it does not.

    A finding here is a real one, not an error of the explorer.
    """

    @property
    def private_locks(self) -> tuple[str, ...]:
        """Name suffixes of locks without contention once the world is at rest."""
        own = (".synced", ".stopped", "inventory")
        return own if self.users else (*own, ".objects")


_WATCHES = ("drop-watch", "expire-watch")
SPECS = {
    "two-claims-one-device": Spec(
        title="two pods at once, one of them must wait",
        claims=2,
        devices=1,
    ),
    "pod-arrives-during-binding": Spec(
        title="a second pod is created when the first claim is written",
        claims=2,
        devices=1,
        late_pods=1,
    ),
    "four-claims-two-devices": Spec(
        title="four pods at once, two of them must wait", claims=4, devices=2, binders=3
    ),
    "four-claims-four-devices": Spec(
        title="four pods at once, one device for each", claims=4, devices=4, binders=3
    ),
    "two-users-one-device": Spec(
        title="two users create, run and delete pods in turn, with claim controller and kubelet",
        claims=0,
        devices=1,
        users=2,
        rounds=2,
    ),
    "watch-breaks": Spec(
        title="a watch breaks and is resumed, or gets 410",
        claims=2,
        devices=1,
        late_pods=1,
        faults=_WATCHES,
        faults_max=1,
    ),
    "object-touched": Spec(
        title="another client changes an object just before it is written: a conflict",
        claims=2,
        devices=1,
        late_pods=1,
        faults=("touch-objects",),
        faults_max=2,
    ),
    "answer-lost": Spec(
        title="H1: no answer to a write: it was committed, never will be, or will be later",
        claims=2,
        devices=1,
        faults=("lose-response", "lose-request", "delay-request"),
        faults_max=1,
        hazard=Hazard("H1", remedy="keep-in-flight-until-known"),
    ),
    "reallocated-unseen": Spec(
        title="H2: another writer changes an allocation while the watch is broken",
        claims=2,
        devices=2,
        late_pods=1,
        faults=("reallocate-claims", *_WATCHES),
        faults_max=1,
        hazard=Hazard("H2", remedy="compare-devices-on-update"),
    ),
    "failover": Spec(
        title="H3: another scheduler takes over while the first is binding a pod",
        claims=2,
        devices=1,
        late_pods=1,
        faults=("take-over",),
        hazard=Hazard("H3", remedy="fence-predecessor"),
    ),
}
"""The worlds by name; every token contains a fingerprint of its world."""


def sized(name: str, sizes: Sizes) -> Spec:
    """Return the spec of this name with changed sizes.

    Raises ScenarioError if the name, or a size or its value, is invalid.
    """
    if name not in SPECS:
        raise errors.ScenarioError(
            f"expected a scenario to explore, got {name!r}. Known: {', '.join(SPECS)}."
            f"{suggestions.did_you_mean(name, SPECS)}"
        )
    for key, value in sizes.items():
        _require_size(name, key, value)
    return dataclasses.replace(SPECS[name], **dict(sizes))  # type: ignore[arg-type]


def _require_size(name: str, key: str, value: int) -> None:
    if key not in LEAST:
        raise errors.ScenarioError(
            f"expected one of {', '.join(LEAST)} to be changed in {name}, got {key!r}."
            f"{suggestions.did_you_mean(key, LEAST)}"
        )
    if not LEAST[key] <= value <= _MOST:
        raise errors.ScenarioError(
            f"expected {key} between {LEAST[key]} and {_MOST} in {name}, got {value}"
        )


def one_less(name: str, sizes: Sizes, key: str) -> Sizes | None:
    """Return the sizes with this one reduced by one; None if it is at its minimum."""
    spec = sized(name, sizes)
    value = getattr(spec, key)
    least = max(LEAST[key], spec.late_pods if key == "claims" else 0)
    return {**sizes, key: value - 1} if value > least else None
