"""One module for each subcommand: its options, and the exit code that it returns.

What several subcommands share does not belong here: see `choosing`, `campaigns`, `terminal`.
"""
