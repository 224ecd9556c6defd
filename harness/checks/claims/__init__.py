"""Checks of the lives of claims: what each version of a claim may say, and how it may change.

Pods matter here only as the users and owners of claims. Devices do not belong here.

Contents: `allocation_finalizers`, `allocation_stability`, `claim_lives`, `claims_in_use`,
`findings`, `generated_claims`, `pod_lives`, `reservations`, `template_copies`.
"""
