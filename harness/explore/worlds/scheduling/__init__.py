"""Worlds about the scheduler: pods that compete for devices, and what may go wrong meanwhile.

Contents: `answers_first`, `broken_devices`, `changing_pools`, `competing_pods`,
`extended_claims`, `failovers`, `filter_threads`, `freed_allocations`, `leader_changes`,
`named_twice`, `reallocated_claims`, `returned_devices`, `shared_claims`, `shared_devices`,
`taint_rules`, `tried_devices`, `two_schedulers`.
"""
