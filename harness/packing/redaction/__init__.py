"""Replaces the names of a cluster in all files of a run, the same by the same.

The run is judged the same with them. `run_redaction` is the entry: it collects the names first, and
replaces them then.
"""
