"""Output for an explored run.

Exploring and judging do not belong here.

Contents: `html_page`, `reproduction`, `run_directory`, `stories`.
"""
