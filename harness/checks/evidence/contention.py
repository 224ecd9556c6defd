"""Did claims compete for devices, and why do pods wait that no scheduler has bound?

Without competition a scheduler has no occasion to allocate one device twice, so that a run without
any says nothing about races. The scenario demands it (`load.reuse_min`), and there are two signs
of it: devices went from claim to claim, and several claims, or several pods, waited at once.

A claim waits until its first allocation, a pod until it is bound; what is being deleted does not
wait. Claims and pods are counted apart: versions of different resources have no common order.

The conditions of pods that are not bound have their scheduler's reason. It explains a load that is
too small, and no guarantee rests on it.
"""

import collections
from collections.abc import Iterator

import msgspec
import numpy as np

from harness.checks import verdicts
from harness.checks.evidence import observed_versions
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations, observed_pods
from harness.history import histories, plans
from harness.model import quantities

WAITING_MIN = 2
"""Claims, or pods, that must have waited at the same time."""
_MESSAGE_MAX = 300


def applies(plan: plans.Plan) -> bool:
    """Return whether the plan demands that claims compete for devices."""
    return plan.requirements.reuse_min > 0


class Queue(msgspec.Struct):
    """The objects of one resource that wait."""

    most: int = 0
    """Most objects that waited at the same time."""
    _waiting: set[str] = set()
    _served: set[str] = set()
    """UIDs of objects that have got what they waited for; they never wait again."""

    def see(self, uid: str, *, is_served: bool, is_leaving: bool) -> None:
        if is_served:
            self._served.add(uid)
        if is_leaving or uid in self._served:
            self._waiting.discard(uid)
            return
        self._waiting.add(uid)
        self.most = max(self.most, len(self._waiting))


class Contention(folders.Folder):
    """How many claims and how many pods waited at once."""

    def __init__(self) -> None:
        self.claims = Queue()
        self.pods = Queue()

    def see_claim(self, seen: observations.SeenClaim) -> None:
        meta = seen.object.metadata
        self.claims.see(
            meta.uid,
            is_served=seen.object.status.allocation is not None,
            is_leaving=seen.is_gone or meta.deletion_timestamp is not None,
        )

    def see_pod(self, seen: observations.SeenPod) -> None:
        meta, pod = seen.object.metadata, seen.object
        self.pods.see(
            meta.uid,
            is_served=bool(pod.spec.node_name) or pod.has_ended or pod.status.phase == "Running",
            is_leaving=seen.is_gone or meta.deletion_timestamp is not None,
        )


def reuse(folded: hold_history.HoldHistory) -> int:
    """Return the number of holds of a device that another claim had held before."""
    holds = folded.holds
    device, claim = holds.column("device"), holds.column("claim")
    users = observed_versions.distinct((device.astype(np.int64) << 32) + claim)
    return len(users) - holds.device_count


def answer(folded: hold_history.HoldHistory, waiting: Contention, least: int) -> tuple[bool, str]:
    """Return whether devices were used again at least so often, and claims or pods waited."""
    again = reuse(folded)
    claims = verdicts.counted(waiting.claims.most, "claim")
    pods = verdicts.counted(waiting.pods.most, "pod")
    devices = f"{verdicts.counted(again, 'hold')} of a device that another claim had held"
    bad = []
    if again < least:
        bad.append(f"{devices}, expected at least {least}")
    if max(waiting.claims.most, waiting.pods.most) < WAITING_MIN:
        bad.append(
            f"never more than {claims} and {pods} waited at once, expected {WAITING_MIN} of either"
        )
    good = f"{devices} (at least {least}); up to {claims} and {pods} waited at once"
    return not bad, "; ".join(bad) or good


# ------------------------------------------------------------------- pods that are not bound
class UnboundPods(folders.Folder):
    """The reasons that schedulers give for the pods that they have not bound."""

    def __init__(self) -> None:
        self._binding: set[str] = set()
        """The schedulers that have bound a pod."""
        self._said = collections.defaultdict[str, dict[str, str]](dict)
        """Scheduler -> uid of a pod -> why it was not scheduled; empty: not known."""

    def see_pod(self, seen: observations.SeenPod) -> None:
        pod, uid = seen.object, seen.object.metadata.uid
        if pod.spec.node_name or pod.has_ended or pod.status.phase == "Running":
            self._binding.add(pod.spec.scheduler_name)
        said = self._said[pod.spec.scheduler_name]
        said[uid] = _message(pod) or said.get(uid, "")

    def reasons(self) -> Iterator[str]:
        """Yield the schedulers that have bound no pod, with what they say of most."""
        for name in [name for name in self._said if name not in self._binding]:
            most = collections.Counter(filter(None, self._said[name].values())).most_common(1)
            said = f", which says of {most[0][1]} of them: {most[0][0]}" if most else ""
            yield f"no pod was bound by {name or 'the scheduler'}{said}"


def _message(pod: observed_pods.Pod) -> str:
    for item in pod.status.conditions or ():
        if item.type == "PodScheduled" and item.status == "False":
            return " ".join(item.message.split())[:_MESSAGE_MAX]
    return ""


def why_unbound(history: histories.History) -> list[str]:
    """Return why no pod was bound, from the observations, which are read once more.

    Empty if that is not known, or if the observations are damaged.
    """
    recorder = histories.History(history.directory, history.plan).observations(
        observations.decode_lines
    )
    seen = UnboundPods()
    try:
        folders.fold(recorder or (), seen)
    except (observations.ObjectError, quantities.QuantityError):
        return []
    return [] if recorder is None or recorder.damage else [*seen.reasons()]
