"""Known defects in what the scheduler knows of the devices in use: assume cache, claims in flight,
allocated devices and their gathering.

Contents: `assume_cache_early_return`, `assume_cache_shared_drain`, `gather_not_atomic`,
`in_flight_overwritten`, `in_flight_removed_first`, `revision_bumped_late`,
`revision_compared_early`.
"""
