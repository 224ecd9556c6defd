"""The facts about the known defects of the scheduler."""

from collections.abc import Mapping

from harness.catalogue import defect_facts, release_ranges

_BINDING = "pod-arrives-during-binding"
_RACES = (_BINDING, "four-claims-two-devices")
"""The worlds of defects by which a device is given away twice."""

FACTS: Mapping[str, defect_facts.DefectFacts] = {
    "admin-access-for-all": defect_facts.DefectFacts(check="granted_access"),
    "admin-device-twice": defect_facts.DefectFacts(
        check="distinct_devices",
        issues=("kubernetes#131269",),
        releases=release_ranges.Releases(last="1.32"),
    ),
    "assume-cache-early-return": defect_facts.DefectFacts(
        check="device_exclusivity", worlds=("two-claims-one-device", *_RACES)
    ),
    "assume-cache-shared-drain": defect_facts.DefectFacts(
        check="device_exclusivity",
        issues=("kubernetes#136269",),
        releases=release_ranges.Releases(first="1.32", last="1.35.0"),
        worlds=_RACES,
    ),
    "bound-before-reserved": defect_facts.DefectFacts(
        check="bound_pods", worlds=("three-pods-one-claim", "two-schedulers-one-claim")
    ),
    "conditions-not-awaited": defect_facts.DefectFacts(
        check="device_readiness", worlds=("binding-condition-fails",)
    ),
    "constraints-not-asked": defect_facts.DefectFacts(check="claim_constraints"),
    "counters-of-one-node": defect_facts.DefectFacts(check="device_consumption"),
    "extended-claim-not-awaited": defect_facts.DefectFacts(
        check="device_exclusivity",
        issues=("kubernetes#133302",),
        releases=release_ranges.Releases(words="1.34 in development"),
        worlds=("extended-claims",),
    ),
    "extended-claim-not-recorded": defect_facts.DefectFacts(check="extended_claims"),
    "finalizer-not-added": defect_facts.DefectFacts(check="allocation_finalizers"),
    "gather-not-atomic": defect_facts.DefectFacts(
        check="device_exclusivity",
        issues=("kubernetes#136269",),
        releases=release_ranges.Releases(first="1.32", last="1.35.0"),
        worlds=_RACES,
    ),
    "in-flight-overwritten": defect_facts.DefectFacts(
        check="device_exclusivity",
        issues=("kubernetes#137897",),
        releases=release_ranges.Releases(last="1.35"),
        worlds=("claim-named-twice",),
    ),
    "in-flight-removed-first": defect_facts.DefectFacts(
        check="device_exclusivity", worlds=("two-claims-one-device", *_RACES)
    ),
    "node-selector-not-asked": defect_facts.DefectFacts(
        check="bound_pods", worlds=("allocation-freed-for-another-pod",)
    ),
    "node-selector-not-written": defect_facts.DefectFacts(
        check="reachable_devices", worlds=("allocation-freed-for-another-pod",)
    ),
    "one-device-enough": defect_facts.DefectFacts(check="requested_results"),
    "revision-bumped-late": defect_facts.DefectFacts(check="device_exclusivity", worlds=_RACES),
    "revision-compared-early": defect_facts.DefectFacts(check="device_exclusivity", worlds=_RACES),
    "selectors-not-asked": defect_facts.DefectFacts(check="selected_devices"),
    "shares-not-gathered": defect_facts.DefectFacts(
        check="device_consumption",
        issues=("kubernetes#139034",),
        releases=release_ranges.Releases(first="1.34", last="1.34"),
    ),
    "slice-deletions-unseen": defect_facts.DefectFacts(check="existing_devices"),
    "slice-tracker-shared-drain": defect_facts.DefectFacts(
        check="tainted_devices",
        issues=("kubernetes#140005",),
        releases=release_ranges.Releases(
            first="1.34.2", last="1.36.2", is_open=True, given="with DRADeviceTaintRules"
        ),
        worlds=("taint-rule",),
    ),
    "slice-tracker-unlocked-merge": defect_facts.DefectFacts(
        check="tainted_devices",
        issues=("kubernetes#140005",),
        releases=release_ranges.Releases(
            first="1.34.2", last="1.36.2", is_open=True, given="with DRADeviceTaintRules"
        ),
        worlds=("taint-rule",),
    ),
    "whole-devices-shared": defect_facts.DefectFacts(check="granted_shares"),
}
"""By name of the defect."""
