"""One module for each subcommand: its options, and the exit code that it returns.

`choosing`, `campaigns` and `terminal` have the parts that several subcommands share.
"""
