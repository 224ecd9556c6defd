"""The programs under test: their command lines, what these may contain, and their versions.

Nothing is started here: processes belong to `run_processes` and `driver_processes`.
"""
