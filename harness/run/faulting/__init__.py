"""The faults of a run: resolved when it is planned, switched on, recorded, and healed.

Which call or event a rule hits is decided in `harness.faults`, by the carrier. Not in here: the
keys of faults, which are in `scenario.fault_specs`; whether the faults of a run prove anything,
which is for `checks`.

Contents: `applications`, `carrier_sessions`, `carriers`, `client_calls`, `conductor`,
`fault_conflicts`, `fault_journal`, `fault_texts`, `hidden_faults`, `injecting`, `nemesis`,
`object_faults`, `object_names`, `planning`, `process_faults`, `refusals`, `routes`, `staging`,
`traffic_faults`, `traffic_rules`.
"""
