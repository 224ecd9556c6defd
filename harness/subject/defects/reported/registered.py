"""The reported defects of the scheduler by name."""

from collections.abc import Mapping

from harness.subject import replacements
from harness.subject.defects.reported import (
    allocator_defects,
    binding_defects,
    queueing_defects,
)


def _other(part: str, replacement: type) -> replacements.Replacement:
    """Return a defect that shows in other ways than by double allocations."""
    return replacements.Replacement(part, replacement, shows_otherwise=True)


KNOWN: Mapping[str, replacements.Replacement] = {
    "all-among-alternatives": _other("allocator", allocator_defects.AllAmongAlternativesAllocator),
    "all-with-counters": _other("allocator", allocator_defects.AllWithCountersAllocator),
    "allocation-without-finalizer": _other(
        "claim_binder", binding_defects.AllocationWithoutFinalizerBinder
    ),
    "claim-deletion-ignored": _other("hints", queueing_defects.ClaimDeletionIgnoredHints),
    "counters-by-pool-name": _other("allocator", allocator_defects.CountersByPoolNameAllocator),
    "counters-not-given-back": _other("allocator", allocator_defects.CountersNotGivenBackAllocator),
    "deallocated-claim-reserved": _other(
        "claim_binder", binding_defects.DeallocatedClaimReservedBinder
    ),
    "deallocation-event-missed": _other(
        "assume_cache", binding_defects.DeallocationEventMissedCache
    ),
    "distinct-by-request": _other("allocator", allocator_defects.DistinctByRequestAllocator),
    "filter-shares-call-state": _other(
        "allocator", allocator_defects.FilterSharesCallStateAllocator
    ),
    "finalizer-event-overwrites-assumed": replacements.Replacement(
        "plugin", binding_defects.FinalizerEventOverwritesAssumedPlugin
    ),
    "intersection-stays-narrow": _other(
        "allocator", allocator_defects.IntersectionStaysNarrowAllocator
    ),
    "no-unreserve": _other("claim_binder", binding_defects.NoUnreserveBinder),
    "not-cached-is-final": _other("plugin", binding_defects.NotCachedIsFinalPlugin),
    "pod-status-ignored": _other("hints", queueing_defects.PodStatusIgnoredHints),
    "slice-event-ignored": _other("hints", queueing_defects.SliceEventIgnoredHints),
    "taint-rule-kills": _other("slice_tracker", queueing_defects.TaintRuleKillsTracker),
    "unindexed-pod": _other("queue", queueing_defects.UnindexedPodQueue),
}
