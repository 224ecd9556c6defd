"""The faults of a run at work: switched on, recorded, and healed.

Which call or event a rule hits is decided in `harness.faults`, by the carrier. Not in here: which
faults a run has (see `fault_planning`); whether they prove anything, which is for `checks`.

Contents: `applications`, `carrier_sessions`, `carriers`, `conductor`, `fault_journal`,
`fault_process`, `injecting`, `object_faults`, `plugin_faults`, `process_faults`, `routes`,
`staging`, `traffic_faults`.
"""
