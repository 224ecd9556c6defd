"""The facts about the known defects of the claim controller."""

from collections.abc import Mapping

from harness.catalogue import defect_facts

FACTS: Mapping[str, defect_facts.DefectFacts] = {
    "controller-claims-not-enqueued": defect_facts.DefectFacts(
        check="resource_leaks",
        issues=("kubernetes#132334",),
        releases="1.32 and 1.33, until patched",
    ),
    "controller-creations-forgotten": defect_facts.DefectFacts(
        check="generated_claims", worlds=("one-claim-per-entry",)
    ),
    "controller-finished-pods-synced": defect_facts.DefectFacts(
        check="claim_controller", issues=("kubernetes#141274",), releases="up to 1.36.2 and newer"
    ),
    "controller-reservations-dropped": defect_facts.DefectFacts(check="claims_in_use"),
    "controller-statuses-overwritten": defect_facts.DefectFacts(
        check="generated_claims", issues=("kubernetes#138407",), releases="up to 1.36.2 and newer"
    ),
}
"""By name of the defect."""
