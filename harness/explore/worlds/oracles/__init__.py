"""Oracles: they judge a world commit by commit, so that a failed run can end early.

They read API objects in their own way and share no code with the subject.
"""
