"""Leadership: which of several schedulers works, and its parts at the start and the end of that.

The work of a scheduler itself does not belong here.

Contents: `elected_runs`, `leader_election`, `leaderships`.
"""
