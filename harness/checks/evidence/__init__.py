"""Proof that the evidence of a run is whole, and what is in doubt if it is not.

The modules about observations (`object_lives`, `recorded_lists`, `references`,
`observed_versions`) follow the records and count what contradicts itself; `wholeness` combines
them. The answers of the certificate are in the modules named items. Checks of guarantees do not
belong here: a contradiction is never a violation.

Contents: `acknowledged_writes`, `certain_holds`, `certificate_items`, `contention`,
`contradictions`, `journal_items`, `last_allocations`, `object_lives`, `observation_items`,
`observed_objects`, `observed_versions`, `recorded_lists`, `references`, `revisions`, `run_course`,
`wholeness`.
"""
