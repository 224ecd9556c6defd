"""Known defects of the allocator: requests, results, shares and counters."""
