"""The checks: from a run directory to a verdict.

Pure functions of recorded evidence. Clocks, network and code of the subject do not belong here,
nor does rendering (see `report`). A check that cannot decide returns UNKNOWN, and one about whose
guarantee a run says nothing returns `NotExamined`; the certificate lists the evidence that a VALID
verdict rests on.

Contents: `blamed_writers`, `certificate`, `check_inputs`, `check_registry`, `check_results`,
`claim_control`, `claims`, `conclusions`, `consumption`, `device_exclusivity`, `devices`,
`doubtful_violations`, `evidence`, `faults`, `figures`, `holds`, `judge_identity`, `judging`,
`nodes`, `observed`, `observed_runs`, `plugin_checks`, `pods`, `progress`, `request_amounts`,
`schedulers`, `selectors`, `taints`, `verdict_files`, `verdicts`, `version_skew`, `witness`,
`world_states`.
"""
