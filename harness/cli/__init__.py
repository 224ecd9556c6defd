"""The command line: options in, exit code out, and the only `print`.

Decisions do not belong here. Commands import their packages when they run, so that `--help` is
fast and importing locust, which patches modules, does not affect other commands.
"""
