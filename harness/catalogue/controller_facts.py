"""The facts about the known defects of the claim controller."""

from collections.abc import Mapping

from harness.catalogue import defect_facts, release_ranges

FACTS: Mapping[str, defect_facts.DefectFacts] = {
    "controller-claims-not-enqueued": defect_facts.DefectFacts(
        check="resource_leaks",
        issues=("kubernetes#132334",),
        releases=release_ranges.Releases(first="1.32", last="1.33", given="until patched"),
    ),
    "controller-creations-forgotten": defect_facts.DefectFacts(
        check="generated_claims", worlds=("one-claim-per-entry",)
    ),
    "controller-finished-pods-synced": defect_facts.DefectFacts(
        check="claim_controller",
        issues=("kubernetes#141274",),
        releases=release_ranges.Releases(last="1.36.2", is_open=True),
    ),
    "controller-reservations-dropped": defect_facts.DefectFacts(check="claims_in_use"),
    "controller-statuses-overwritten": defect_facts.DefectFacts(
        check="generated_claims",
        issues=("kubernetes#138407",),
        releases=release_ranges.Releases(last="1.36.2", is_open=True),
    ),
    "extended-claim-kept": defect_facts.DefectFacts(
        check="resource_leaks",
        issues=("kubernetes#133302",),
        releases=release_ranges.Releases(first="1.34", last="1.34"),
        worlds=("finished-extended-pods",),
    ),
    "foreign-consumer-stops-cleanup": defect_facts.DefectFacts(
        check="resource_leaks",
        issues=("kubernetes#136406",),
        releases=release_ranges.Releases(last="1.35"),
        worlds=("foreign-consumer",),
    ),
    "reservation-of-unseen-pod-dropped": defect_facts.DefectFacts(
        check="claims_in_use", worlds=("pods-not-heard-of",)
    ),
    "small-mutation-cache": defect_facts.DefectFacts(
        check="generated_claims",
        issues=("kubernetes#140217",),
        releases=release_ranges.Releases(last="1.36.2"),
    ),
    "template-annotated": defect_facts.DefectFacts(
        check="generated_claims",
        issues=("kubernetes#141104",),
        releases=release_ranges.Releases(last="1.36.2", is_open=True),
        worlds=("annotated-template",),
    ),
}
"""By name of the defect."""
