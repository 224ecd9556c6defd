"""What small worlds there are to explore, and how large each is."""

import dataclasses
from collections.abc import Mapping

from harness import errors, suggestions

Sizes = Mapping[str, int]
"""Numbers of a spec that are other than its name says."""
LEAST = {
    "claims": 2,
    "devices": 1,
    "binders": 1,
    "users": 1,
    "rounds": 1,
    "breaks_max": 0,
    "losses_max": 0,
    "conflicts_max": 0,
}
"""What can be made smaller, and how small; the late pods are what some worlds are about, and stay."""
_MOST = 64


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A world; small, because every interleaving of it counts."""

    title: str
    """One line for people."""
    claims: int
    """Each with a pod of its own."""
    devices: int
    """On one node."""
    binders: int = 2
    late_pods: int = 0
    """Of the pods, so many are created when the first claim is allocated, and not at the beginning."""
    reallocates: bool = False
    """Another writer takes the first claim's device away and gives it the last one, in two writes; the late pods come when all is at rest."""
    fails_over: bool = False
    """After the first write of a binding the scheduler is told to stop, the late pods come, and another scheduler takes over."""
    users: int = 0
    """Users who each create a pod with a claim template, wait until it runs, delete it, and wait until it is gone; with
    claim controller and kubelet in the world."""
    rounds: int = 1
    """How often each user does so."""
    breaks_max: int = 0
    """Watches that may break, and be resumed or told 410."""
    losses_max: int = 0
    """Answers that may be lost after their commit."""
    conflicts_max: int = 0
    """Objects that another client may touch just before they are written, so that the writer meets a conflict."""
    is_known_to_fail: bool = False
    """The correct subject is not up to this world, as upstream (hypotheses H1 to H3): what is found there is a finding, not a mistake of the explorer."""

    @property
    def private_locks(self) -> tuple[str, ...]:
        """Ends of the names of locks that no two tasks contend for once the world is at rest."""
        own = (".synced", ".stopped", "inventory")
        return own if self.users else (*own, ".objects")


SPECS = {
    "two-claims-one-device": Spec(
        title="two pods at once, one of them must wait",
        claims=2,
        devices=1,
    ),
    "pod-arrives-during-binding": Spec(
        title="a second pod comes when the first claim is written",
        claims=2,
        devices=1,
        late_pods=1,
    ),
    "four-claims-two-devices": Spec(
        title="four pods at once, two of them must wait", claims=4, devices=2, binders=3
    ),
    "four-claims-four-devices": Spec(
        title="four pods at once, a device for each", claims=4, devices=4, binders=3
    ),
    "two-users-one-device": Spec(
        title="two users create, run and delete pods in turn, with claim controller and kubelet",
        claims=0,
        devices=1,
        users=2,
        rounds=2,
    ),
    "watch-breaks": Spec(
        title="a watch breaks, and is resumed or told 410",
        claims=2,
        devices=1,
        late_pods=1,
        breaks_max=1,
    ),
    "object-touched": Spec(
        title="another client changes an object just before it is written: a conflict",
        claims=2,
        devices=1,
        late_pods=1,
        conflicts_max=2,
    ),
    "answer-lost": Spec(
        title="H1: the answer to a write is lost after its commit",
        claims=2,
        devices=1,
        losses_max=1,
        is_known_to_fail=True,
    ),
    "reallocated-unseen": Spec(
        title="H2: another writer changes an allocation while the watch is broken",
        claims=2,
        devices=2,
        late_pods=1,
        breaks_max=1,
        reallocates=True,
        is_known_to_fail=True,
    ),
    "failover": Spec(
        title="H3: another scheduler takes over while a binding of the first is under way",
        claims=2,
        devices=1,
        late_pods=1,
        fails_over=True,
        is_known_to_fail=True,
    ),
}
"""By name; part of every token."""


def sized(name: str, sizes: Sizes) -> Spec:
    """The spec of this name with some numbers changed; ScenarioError when there is no such name or number."""
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
    """The sizes with this number made smaller by one; None when it is as small as it can be."""
    spec = sized(name, sizes)
    value = getattr(spec, key)
    least = max(LEAST[key], spec.late_pods if key == "claims" else 0)
    return {**sizes, key: value - 1} if value > least else None
