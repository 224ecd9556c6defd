"""Names the faults that hit the objects of a violation, for guarantees without a closer look.

For double allocations see `fault_attribution`, which also decides whether a fault explains them.
"""

import collections
from collections.abc import Iterable, Sequence

from harness.checks import verdicts
from harness.checks.faults import fault_records
from harness.history import records

NONE = "no fault hit its objects"
EFFECTS_MAX = 5
"""Faults named for one violation; the last ones to hit its objects."""
_Key = tuple[str, str, str]
"""Plural name of the resource, namespace and name of an object."""


class ObjectFaults:
    """The applications of faults by the objects that they hit."""

    def __init__(self, applications: Iterable[records.FaultApplied]) -> None:
        self._found: dict[_Key, list[records.FaultApplied]] = collections.defaultdict(list)
        for item in applications:
            if item.name:
                self._found[item.resource, item.namespace, item.name].append(item)

    def effects(self, violation: verdicts.Violation) -> list[verdicts.FaultEffect]:
        """Return the last effect of each fault on each object of a violation, in order of time."""
        last: dict[tuple[str, str], verdicts.FaultEffect] = {}
        for involved in violation.objects:
            key = (f"{involved.kind.lower()}s", involved.namespace, involved.name)
            for item in self._found.get(key, ()):
                if not item.uid or not involved.uid or item.uid == involved.uid:
                    effect = fault_records.effect(item, _named(involved), _text(item))
                    last[effect.fault, effect.object] = effect
        return sorted(last.values(), key=lambda effect: effect.begun_ns)[-EFFECTS_MAX:]


def sentence(effects: Sequence[verdicts.FaultEffect]) -> str:
    """Return the effects in a sentence."""
    return "; ".join(effect.text for effect in effects) or NONE


def _named(involved: verdicts.InvolvedObject) -> str:
    name = involved.name
    return f"{involved.kind} {f'{involved.namespace}/{name}' if involved.namespace else name}"


def _text(item: records.FaultApplied) -> str:
    """Return the call or event that was hit, its client, and the effect."""
    resource = f"{item.resource}/{item.subresource}" if item.subresource else item.resource
    if item.event_type:
        hit = f"the event {item.event_type} of {item.name} to {item.client}"
    else:
        hit = f"the {item.verb} of {resource} {item.name} by {item.client}"
    return f"{hit}: {item.detail or item.kind} ({item.fault})"
