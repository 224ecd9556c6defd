"""Scenario files and cluster profiles as data.

Loads TOML into frozen, validated values and reports every mistake with its key. All defaults of
these files are here. Code that starts clusters, traffic or processes does not belong here.

Contents: `claim_specs`, `cluster_features`, `device_supply`, `driver_specs`, `examples`,
`fault_specs`, `fields`, `key_documentation`, `loading`, `pool_changes`, `pool_kind_specs`,
`pool_specs`, `possibility`, `profiles`, `scenario_faults`, `schemas`, `specs`, `subject_specs`,
`toml_files`, `traffic_specs`.
"""
