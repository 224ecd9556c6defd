"""Explains why pods were not bound, as far as the record shows it; no guarantee rests on this.

The observations are read once more for it, in a run with too little load only.
"""

import collections
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.checks import verdicts
from harness.checks.devices import cel_selectors, device_catalogue
from harness.checks.observed import folders, observations, observed_claims, observed_pods
from harness.history import histories
from harness.model import quantities

KINDS_MAX = 50
"""Kinds of requests that are tried on devices."""
DEVICES_MAX = 2_000
"""Devices on which a kind of requests is tried."""
SELECTORS_MAX = 3
"""Selectors that are named."""
_MESSAGE_MAX = 300


class _Refusal(NamedTuple):
    """A selector that a device does not match."""

    expression: str
    error: str
    """Empty: the selector is false."""

    def told(self, count: int) -> str:
        devices = verdicts.counted(count, "device")
        how = f"fails on {devices}: {self.error:.200}" if self.error else f"refuses {devices}"
        return f"the selector {self.expression:.200} {how}"


class UnboundPods(folders.Folder):
    """The schedulers' pods without a node, and the kinds of requests of claims."""

    def __init__(self) -> None:
        self._unbound: dict[str, tuple[str, str]] = {}
        """Uid of a pod -> its scheduler, and why it was not scheduled, as its condition says."""
        self._binding = dict[str, bool]()
        """Each scheduler -> whether it has bound a pod."""
        self._bound = set[str]()
        self._wanted: dict[tuple[str, ...], observed_claims.ExactRequest] = {}

    def see_pod(self, seen: observations.SeenPod) -> None:
        pod, uid = seen.object, seen.object.metadata.uid
        scheduler = sys.intern(pod.spec.scheduler_name)
        self._binding.setdefault(scheduler, False)
        if pod.spec.node_name or pod.has_ended or pod.status.phase == "Running":
            self._bound.add(uid)
            self._unbound.pop(uid, None)
            self._binding[scheduler] = True
        elif uid not in self._bound:
            known = self._unbound.get(uid, (scheduler, ""))[1]
            self._unbound[uid] = scheduler, _message(pod) or known

    def see_claim(self, seen: observations.SeenClaim) -> None:
        for option in seen.object.spec.devices.options.values():
            if len(self._wanted) < KINDS_MAX:
                self._wanted.setdefault(option.kind, option)

    def reasons(self, catalogue: device_catalogue.DeviceCatalogue) -> list[str]:
        """Return why pods were not bound, the most important reason first; empty: not known."""
        if not self._unbound:
            return []
        known = [*catalogue.newest(DEVICES_MAX)]
        refusals: collections.Counter[_Refusal] = collections.Counter()
        for wanted in self._wanted.values():
            refusals |= _refusals(wanted, catalogue, known)
        told = [refusal.told(count) for refusal, count in refusals.most_common(SELECTORS_MAX)]
        return [*self._idle(), *told]

    def _idle(self) -> Iterator[str]:
        for name in (name for name, binds in self._binding.items() if not binds):
            told = [text for of, text in self._unbound.values() if of == name and text]
            most = collections.Counter(told).most_common(1)
            said = f", which says of {most[0][1]} of them: {most[0][0]}" if most else ""
            yield f"no pod was bound by {name or 'the scheduler'}{said}"


def reasons(history: histories.History) -> list[str]:
    """Return why pods of a run were not bound, the most important reason first.

    Empty if that is not known, or if the observations are damaged.
    """
    again = histories.History(history.directory, history.plan)
    recorder = again.observations(observations.decode_lines)
    seen, catalogue = UnboundPods(), device_catalogue.DeviceCatalogue()
    if recorder is None:
        return []
    try:
        folders.fold(recorder, seen, catalogue)
    except (observations.ObjectError, quantities.QuantityError):
        return []
    return [] if recorder.damage else seen.reasons(catalogue)


def _message(pod: observed_pods.Pod) -> str:
    messages = [
        item.message
        for item in pod.status.conditions or ()
        if item.type == "PodScheduled" and item.status == "False"
    ]
    return " ".join(messages[0].split())[:_MESSAGE_MAX] if messages else ""


def _refusals(
    wanted: observed_claims.ExactRequest,
    catalogue: device_catalogue.DeviceCatalogue,
    known: Sequence[device_catalogue.KnownDevice],
) -> collections.Counter[_Refusal]:
    """Count the devices that each selector keeps from a kind of requests.

    Only selectors that fail count, as long as some device matches.
    """
    classes = catalogue.classes(wanted.device_class_name, sys.maxsize)
    expressions = (*(classes[-1] if classes else ()), *wanted.expressions)
    answers = [_first_refusal(device, expressions) for device in known]
    has_match = None in answers
    return collections.Counter(
        answer for answer in answers if answer and (answer.error or not has_match)
    )


def _first_refusal(
    device: device_catalogue.KnownDevice, expressions: Sequence[str]
) -> _Refusal | None:
    for expression in expressions:
        selector = cel_selectors.selector(expression)
        if error := selector.failure(device.driver, device.device):
            return _Refusal(expression, error)
        if selector.matches(device.driver, device.device) is False:
            return _Refusal(expression, "")
    return None
