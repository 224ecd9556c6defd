"""The processes of a run while it goes on: starts, watches and stops them, and journals their ends.

It does not know which processes a run needs; `run_processes` does.
"""
