"""The guarantees that the checks judge, each with a letter; the README explains them."""

_CHECKS = {
    "X": "device_exclusivity scheduler_exclusivity distinct_devices prepared_devices",
    "C": "device_consumption",
    "N": (
        "existing_devices selected_devices claim_constraints requested_results granted_access "
        "granted_shares copied_results tainted_devices reachable_devices bound_pods device_readiness"
    ),
    "R": "allocation_stability allocation_finalizers claim_reservations claims_in_use",
    "G": "generated_claims claim_controller extended_claims container_parameters",
    "P": "claim_progress scheduler_books",
    "L": "resource_leaks leftover_preparations",
}
LETTERS = {check: letter for letter, names in _CHECKS.items() for check in names.split()}
"""The letter of the guarantee of each check."""
