"""Proof that the evidence of a run is whole, and what is in doubt if it is not.

The modules about observations (`object_lives`, `recorded_lists`, `observed_versions`) follow the
records and count what contradicts itself; `wholeness` combines them. `journal_totals` and
`acknowledged_writes` read journals beside the observations. Questions of the certificate do not
belong here (see `certification`), nor do checks of guarantees: a contradiction is never a
violation.
"""
