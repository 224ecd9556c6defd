"""The command line: options in, exit code out, and the only `print`.

Decisions do not belong here. Commands import their packages when they run, so that `--help` is
fast and importing locust, which patches modules, does not affect other commands.

Contents: `campaign_options`, `campaigning`, `choosing`, `clusters`, `commands`, `compare_command`,
`conforming`, `defects_command`, `evaluation`, `examining`, `explain_command`, `exploration`,
`hunt_command`, `index_command`, `init_command`, `interruptions`, `log_paths`, `machines`, `main`,
`nightly_command`, `parts`, `plugins_command`, `reproduce_command`, `run_commands`, `run_paths`,
`schema_command`, `terminal`.
"""
