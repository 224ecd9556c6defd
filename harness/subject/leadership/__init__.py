"""Leadership: which of several schedulers works, and its parts at the start and the end of that.

The work of a scheduler itself does not belong here, nor does its process (`process.elected_runs`).
"""
