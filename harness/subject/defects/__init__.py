"""Known defects: small classes that override one method of correct code.

The class docstring of a defect says what is wrong, in which versions, and how it was fixed. A run
enables defects by name. Defects of different parts can be combined, and so can those of one part if
they override different methods. Those of the scheduler are here by name, those of the claim
controller in `claim_controller_defects`.
"""

from harness.subject import plugin_defects, replacements
from harness.subject.defects.allocator import (
    admin_device_twice,
    counters_of_one_node,
    requests_not_met,
    results_not_kept,
    shares_not_gathered,
)
from harness.subject.defects.binding import (
    conditions_not_awaited,
    extended_claim_not_awaited,
    extended_claim_not_recorded,
    finalizer_not_added,
    pods_bound_wrongly,
)
from harness.subject.defects.reported import registered
from harness.subject.defects.slices import (
    slice_deletions_unseen,
    slice_tracker_shared_drain,
    slice_tracker_unlocked_merge,
)
from harness.subject.defects.tracking import (
    assume_cache_early_return,
    assume_cache_shared_drain,
    gather_not_atomic,
    in_flight_overwritten,
    in_flight_removed_first,
    revision_bumped_late,
    revision_compared_early,
)

CATALOGUE = replacements.Catalogue(
    "defect",
    "defects",
    {
        "admin-access-for-all": replacements.Replacement(
            "allocator", results_not_kept.AdminAccessForAllAllocator, shows_otherwise=True
        ),
        "admin-device-twice": replacements.Replacement(
            "allocator", admin_device_twice.AdminDeviceTwiceAllocator, shows_otherwise=True
        ),
        "assume-cache-early-return": replacements.Replacement(
            "assume_cache", assume_cache_early_return.EarlyReturnAssumeCache
        ),
        "assume-cache-shared-drain": replacements.Replacement(
            "assume_cache", assume_cache_shared_drain.SharedDrainAssumeCache
        ),
        "bound-before-reserved": replacements.Replacement(
            "claim_binder", pods_bound_wrongly.BoundBeforeReservedBinder, shows_otherwise=True
        ),
        "conditions-not-awaited": replacements.Replacement(
            "conditions", conditions_not_awaited.NotAwaitedConditions, shows_otherwise=True
        ),
        "constraints-not-asked": replacements.Replacement(
            "allocator", requests_not_met.ConstraintsNotAskedAllocator, shows_otherwise=True
        ),
        "counters-of-one-node": replacements.Replacement(
            "allocator", counters_of_one_node.CountersOfOneNodeAllocator
        ),
        "extended-claim-not-awaited": replacements.Replacement(
            "claim_binder", extended_claim_not_awaited.NotAwaitedBinder
        ),
        "extended-claim-not-recorded": replacements.Replacement(
            "claim_binder", extended_claim_not_recorded.NotRecordedBinder, shows_otherwise=True
        ),
        "finalizer-not-added": replacements.Replacement(
            "claim_binder", finalizer_not_added.FinalizerNotAddedBinder, shows_otherwise=True
        ),
        "gather-not-atomic": replacements.Replacement(
            "gatherer", gather_not_atomic.NotAtomicGatherer
        ),
        "in-flight-overwritten": replacements.Replacement(
            "in_flight_claims", in_flight_overwritten.OverwrittenInFlightClaims
        ),
        "in-flight-removed-first": replacements.Replacement(
            "claim_binder", in_flight_removed_first.RemovedFirstBinder
        ),
        "node-selector-not-asked": replacements.Replacement(
            "plugin", pods_bound_wrongly.NodeSelectorNotAskedPlugin, shows_otherwise=True
        ),
        "node-selector-not-written": replacements.Replacement(
            "allocator", results_not_kept.NodeSelectorNotWrittenAllocator, shows_otherwise=True
        ),
        "one-device-enough": replacements.Replacement(
            "allocator", requests_not_met.OneDeviceEnoughAllocator, shows_otherwise=True
        ),
        "revision-bumped-late": replacements.Replacement(
            "allocated", revision_bumped_late.BumpedLateDevices
        ),
        "revision-compared-early": replacements.Replacement(
            "gatherer", revision_compared_early.ComparedEarlyGatherer
        ),
        "selectors-not-asked": replacements.Replacement(
            "allocator", requests_not_met.SelectorsNotAskedAllocator, shows_otherwise=True
        ),
        "shares-not-gathered": replacements.Replacement(
            "allocator", shares_not_gathered.SharesNotGatheredAllocator
        ),
        "slice-deletions-unseen": replacements.Replacement(
            "slice_tracker",
            slice_deletions_unseen.DeletionsUnseenSliceTracker,
            shows_otherwise=True,
        ),
        "slice-tracker-shared-drain": replacements.Replacement(
            "slice_tracker",
            slice_tracker_shared_drain.SharedDrainSliceTracker,
            shows_otherwise=True,
        ),
        "slice-tracker-unlocked-merge": replacements.Replacement(
            "slice_tracker",
            slice_tracker_unlocked_merge.UnlockedMergeSliceTracker,
            shows_otherwise=True,
        ),
        "whole-devices-shared": replacements.Replacement(
            "allocator", results_not_kept.WholeDevicesSharedAllocator, shows_otherwise=True
        ),
        **registered.KNOWN,
    },
    others=plugin_defects.replacement,
)
"""The known defects of the scheduler by name."""

names = CATALOGUE.names
describe = CATALOGUE.describe
require_known = CATALOGUE.require_known
