"""One run as real processes: plan, start, wait for the goal, stop, judge.

Judging itself belongs to `checks`, which reads the finished run directory. Traffic, scheduler and
recorder are separate processes; this package only starts, watches and stops them. Several runs are
the work of `campaign`.

Contents: `cluster_logs`, `convergence`, `demanded_checks`, `execution`, `fault_planning`,
`faulting`, `goals`, `known_defects`, `leaders`, `memory_sampling`, `progressing`, `rerun_command`,
`run_children`, `run_journal`, `run_plan`, `run_processes`, `runs`, `scheduler_commands`,
`selectors`, `spotting`, `subjects`, `supervising`, `used_plugins`.
"""
