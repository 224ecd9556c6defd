"""Shrinks a scenario by repetition: smaller candidates are kept if they fail in half of their runs.

The search only asks for runs; executing them belongs to `attempts`.
"""
