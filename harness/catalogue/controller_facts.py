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
    "extended-claim-kept": defect_facts.DefectFacts(
        check="resource_leaks",
        issues=("kubernetes#133302",),
        releases="1.34.2",
        worlds=("finished-extended-pods",),
    ),
    "foreign-consumer-stops-cleanup": defect_facts.DefectFacts(
        check="resource_leaks",
        issues=("kubernetes#136406",),
        releases="up to 1.35",
        worlds=("foreign-consumer",),
    ),
    "reservation-of-unseen-pod-dropped": defect_facts.DefectFacts(
        check="claims_in_use", worlds=("pods-not-heard-of",)
    ),
    "small-mutation-cache": defect_facts.DefectFacts(
        check="generated_claims", issues=("kubernetes#140217",), releases="up to 1.36.2"
    ),
    "template-annotated": defect_facts.DefectFacts(
        check="generated_claims",
        issues=("kubernetes#141104",),
        releases="up to 1.36.2 and newer",
        worlds=("annotated-template",),
    ),
}
"""By name of the defect."""
