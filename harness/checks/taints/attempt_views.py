"""Which versions of slices and rules a scheduler certainly knew when it chose devices for a claim.

The slice tracker marks each event of slices and rules that it has dealt with. An attempt that
begins later must know it. The record of other schedulers shows less: see `tainted_devices`.
"""

import dataclasses
from collections.abc import Iterable, Iterator

from harness.checks import plan_facts, protocol
from harness.history import histories, plans, records

INFORMERS = {"informer-resourceslices": "slices", "informer-devicetaintrules": "rules"}
_KINDS = {kind: kind for kind in INFORMERS.values()}
UNKNOWN = 0
"""The resourceVersion of an unknown view: every version may have been seen."""


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """The oldest versions that an attempt may have seen, as resourceVersions."""

    slices: int = UNKNOWN
    rules: int = UNKNOWN

    def older(self, other: "View") -> "View":
        """Return the older versions of both."""
        return View(min(self.slices, other.slices), min(self.rules, other.rules))


class AttemptViews(dict[str, View]):
    """The view of each claim that the only scheduler has planned devices for, by the claim's uid.

    Empty where pools do not change, and where the steps do not show the views.
    """

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "AttemptViews":
        return cls(read(evidence.history) if are_asked(evidence.plan) else {})

    def slices_of(self, claim: str) -> int:
        """Return the oldest version of the slices that the attempt for a claim may have seen."""
        return self[claim].slices if claim in self else UNKNOWN


def are_asked(plan: plans.Plan) -> bool:
    """Return whether the steps show more than the record: pools change, one scheduler allocates."""
    return bool(plan_facts.part(plan, "pools").get("changes")) and are_told(plan)


def are_told(plan: plans.Plan) -> bool:
    """Return whether the steps show the views: one scheduler of ours, and no faults."""
    is_alone = len(plan_facts.part(plan, "subject").get("schedulers") or ()) == 1
    return is_alone and plan_facts.SCHEDULER in plan.expected_steps and not plan.faults


def read(history: histories.History) -> dict[str, View]:
    """Return the views, of a claim that was planned several times the oldest one.

    Steps of another form show nothing: no claim has a view then.
    """
    views: dict[str, View] = {}
    try:
        for claim, view in _planned(history.steps(plan_facts.SCHEDULER) or ()):
            views[claim] = view.older(views.get(claim, view))
    except (KeyError, TypeError, ValueError):
        return {}
    return views


def _planned(steps: Iterable[records.Body]) -> Iterator[tuple[str, View]]:
    known = dict.fromkeys(INFORMERS.values(), UNKNOWN)
    view = View()
    for step in steps:
        if not isinstance(step, records.Step):
            continue
        match step.name:
            case "scheduling.started":
                view = View(**known)
            case "in-flight.added":
                yield str(step.fields.get("claim")), view
            case "slice-tracker.handled":
                known[_KINDS[step.fields["of"]]] = int(step.fields["version"])
            case "informer.listed" | "informer.gap" if step.fields["informer"] in INFORMERS:
                # A new list may be older than what was known.
                known[INFORMERS[step.fields["informer"]]] = UNKNOWN
            case _:
                pass
