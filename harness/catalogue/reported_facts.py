"""The facts about the defects in `subject.defects.reported`."""

from collections.abc import Mapping

from harness.catalogue import defect_facts, release_ranges

FACTS: Mapping[str, defect_facts.DefectFacts] = {
    "all-among-alternatives": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#137347",),
        releases=release_ranges.Releases(last="1.35"),
        worlds=("all-or-one",),
    ),
    "all-with-counters": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#138882",),
        releases=release_ranges.Releases(first="1.35", last="1.36.0"),
        worlds=("all-with-counters",),
    ),
    "allocation-without-finalizer": defect_facts.DefectFacts(
        check="allocation_finalizers",
        issues=("kubernetes#124931",),
        releases=release_ranges.Releases(last="1.30"),
        worlds=("claim-freed-and-taken",),
    ),
    "claim-deletion-ignored": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#140831",),
        releases=release_ranges.Releases(last="1.36.2"),
        worlds=("allocated-claim-deleted",),
    ),
    "counters-by-pool-name": defect_facts.DefectFacts(
        check="device_consumption",
        issues=("kubernetes#140434",),
        releases=release_ranges.Releases(first="1.36.2", last="1.36.2"),
        worlds=("pools-of-one-name",),
    ),
    "counters-not-given-back": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#140431",),
        releases=release_ranges.Releases(last="1.36.2"),
        worlds=("refused-between",),
    ),
    "deallocated-claim-reserved": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#130160",),
        releases=release_ranges.Releases(
            first="1.34.2", last="1.34.2", given="with binding conditions on"
        ),
        worlds=("allocation-freed-for-another-pod",),
    ),
    "deallocation-event-missed": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#123698", "kubernetes#124595"),
        releases=release_ranges.Releases(last="1.30"),
        worlds=("freed-unseen",),
    ),
    "distinct-by-request": defect_facts.DefectFacts(
        check="claim_constraints",
        issues=("kubernetes#140438",),
        releases=release_ranges.Releases(first="1.34", last="1.36.2"),
        worlds=("three-distinct-devices",),
    ),
    "filter-shares-call-state": defect_facts.DefectFacts(
        check="reachable_devices",
        issues=("kubernetes#133586",),
        releases=release_ranges.Releases(words="1.34 in development"),
        worlds=("filter-threads",),
    ),
    "finalizer-event-overwrites-assumed": defect_facts.DefectFacts(
        check="device_exclusivity",
        issues=("kubernetes#123516",),
        releases=release_ranges.Releases(words="1.30 in development"),
        worlds=("two-claims-one-device", "pod-arrives-during-binding"),
    ),
    "intersection-stays-narrow": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#140326",),
        releases=release_ranges.Releases(
            first="1.36.2", last="1.36.2", given="with DRAListTypeAttributes"
        ),
        worlds=("lists-in-common",),
    ),
    "no-unreserve": defect_facts.DefectFacts(
        check="scheduler_books",
        issues=("volcano#5102",),
        releases=release_ranges.Releases(words="Volcano"),
        worlds=("two-schedulers-one-claim",),
    ),
    "not-cached-is-final": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("volcano#5997",),
        releases=release_ranges.Releases(words="Volcano"),
        worlds=("two-users-one-device",),
    ),
    "pod-status-ignored": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#127497",),
        releases=release_ranges.Releases(last="1.31"),
        worlds=("claim-lost-while-pod-waits",),
    ),
    "slice-event-ignored": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#126807",),
        releases=release_ranges.Releases(first="1.30", last="1.31"),
        worlds=("new-generation",),
    ),
    "taint-rule-kills": defect_facts.DefectFacts(
        check="claim_progress",
        issues=("kubernetes#139651",),
        releases=release_ranges.Releases(
            first="1.36.2", last="1.36.2", given="with DRADeviceTaintRules"
        ),
        worlds=("taint-rule",),
    ),
    "unindexed-pod": defect_facts.DefectFacts(
        check="claim_progress", worlds=("claim-lost-while-pod-waits", "two-users-one-device")
    ),
}
"""By name of the defect."""
