"""Output for an explored run: story, HTML page, run directory, and a pytest file.

Exploring and judging do not belong here.
"""
