"""Proof that the evidence of a run is whole, and what is in doubt if it is not.

The modules about observations (`object_lives`, `recorded_lists`, `references`,
`observed_versions`) follow the records and count what contradicts itself; `wholeness` combines
them. `api_call_totals`, `acknowledged_writes` and `pool_changes` read journals beside the
observations. Questions of the certificate do not belong here (see `certificate`), nor do checks of
guarantees: a contradiction is never a violation.
"""
