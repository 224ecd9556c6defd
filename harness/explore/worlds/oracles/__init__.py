"""Oracles: they judge a world commit by commit, so that a failed run can end early.

They read API objects in their own way and share no code with the subject.

Contents: `allocation_finalizers`, `asked_devices`, `claim_entries`, `device_exclusivity`,
`device_shares`, `granted_devices`, `leftovers`, `offered_devices`, `panels`, `preparations`,
`ready_devices`, `reservations`, `runnable_pods`, `scheduler_books`.
"""
