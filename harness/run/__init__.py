"""One run as real processes: plan, start, wait for the goal, stop, judge.

Judging itself belongs to `checks`, which reads the finished run directory. Traffic, scheduler and
recorder are separate processes; this package only starts, watches and stops them. Several runs are
the work of `campaign`.

Contents: `cluster_logs`, `convergence`, `deadlines`, `demanded_checks`, `execution`,
`fault_planning`, `faulting`, `goals`, `known_defects`, `program_versions`, `progressing`,
`rerun_command`, `run_plan`, `run_processes`, `runs`, `scheduler_commands`, `selectors`, `spotting`,
`subjects`, `supervision`, `used_plugins`.
"""
