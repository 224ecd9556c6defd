"""Remedies: what upstream could do against hazards that today's kube-scheduler still has.

They are the opposite of the known defects: small classes that override one or few methods of the
correct code. The class docstring of a remedy says what it does, why that is enough, what it does
not cover, and which hypothesis it answers. A run enables remedies by name.

The cost of a remedy is in its named steps: one `remedy.listed` or `remedy.read` for each request
that reads, `remedy.fenced` for each write, `remedy.postponed` for each try that failed;
`remedy.settled` has the time that a claim stayed in flight (`waited_ms`), and `remedy.took-over`
the time before the first pod. `remedy.outcome-unknown`, `remedy.reallocation-seen`,
`remedy.write-refused`, `remedy.writes-ended`, `remedy.name-taken`, `remedy.pod-unseen`,
`remedy.claim-unseen`, `remedy.reservation-found` and `remedy.tried-again` say what gave rise to it.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from harness import errors
from harness.subject import replacements
from harness.subject.claim_control import controller_parts
from harness.subject.remedies import (
    ask_again,
    await_created_claims,
    compare_devices,
    derive_claim_names,
    fence_predecessor,
    find_claims,
    keep_in_flight,
    try_after_post_filter,
)
from harness.subject.scheduling import schedulers

Part = Literal["scheduler", "claim-controller"]
CATALOGUE = replacements.Catalogue(
    "remedy",
    "remedies",
    {
        "keep-in-flight-until-known": replacements.Replacement(
            "claim_binder", keep_in_flight.KeepInFlightBinder
        ),
        "compare-devices-on-update": replacements.Replacement(
            "allocated", compare_devices.ComparedDevices
        ),
        "fence-predecessor": replacements.Replacement(
            "leadership", fence_predecessor.FencingLeadership
        ),
        "try-again-after-post-filter": replacements.Replacement(
            "plugin", try_after_post_filter.TryingAgainPlugin
        ),
        "derive-claim-names": replacements.Replacement(
            "pod_syncer", derive_claim_names.DerivingPodSyncer, controller_parts.ControllerParts
        ),
        "ask-again-for-unseen-pods": replacements.Replacement(
            "releaser", ask_again.AskingReleaser, controller_parts.ControllerParts
        ),
        "find-claims-by-reservation": replacements.Replacement(
            "enqueuer", find_claims.ReservationEnqueuer, controller_parts.ControllerParts
        ),
        "await-created-claims": replacements.Replacement(
            "pod_syncer", await_created_claims.AwaitingPodSyncer, controller_parts.ControllerParts
        ),
    },
)
"""The remedies by name."""

names = CATALOGUE.names
describe = CATALOGUE.describe
require_known = CATALOGUE.require_known


_WHOLES: Mapping[Part, type] = {
    "scheduler": schedulers.SchedulerParts,
    "claim-controller": controller_parts.ControllerParts,
}


def of_part(chosen: Iterable[str], part: Part) -> list[str]:
    """Return those of the chosen remedies that change a part. Raises UsageError if unknown."""
    return [name for name in chosen if CATALOGUE.named(name).whole is _WHOLES[part]]


def require_part(chosen: Iterable[str], part: Part) -> None:
    """Raise UsageError for an unknown name, or a remedy of another part."""
    for name in chosen:
        if name not in of_part([name], part):
            known = ", ".join(of_part(names(), part))
            raise errors.UsageError(
                f"expected a remedy of the {part}, got {name!r}, which is one of another part. "
                f"Known remedies of the {part}: {known}"
            )
