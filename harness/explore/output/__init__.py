"""Output for an explored run.

Exploring and judging do not belong here.
"""
