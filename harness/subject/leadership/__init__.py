"""Which of several schedulers works, and what it does when it begins and when it no longer does.

What is scheduled does not belong here.

Contents: `leader_election`, `leaderships`.
"""
