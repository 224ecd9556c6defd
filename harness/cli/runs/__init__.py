"""Commands about runs that have ended, and `run`: judge, report, explain, compare, reproduce.

Contents: `compare_command`, `explain_command`, `index_command`, `log_paths`, `reproduce_command`,
`run_commands`, `run_paths`.
"""
