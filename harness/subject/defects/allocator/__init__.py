"""Known defects of the allocator: requests, results, shares and counters.

Contents: `admin_device_twice`, `counters_of_one_node`, `requests_not_met`, `results_not_kept`,
`shares_not_gathered`.
"""
