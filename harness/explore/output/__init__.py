"""Output for an explored run.

Exploring and judging do not belong here.

Contents: `stories` (numbered sentences), `html_page`, `run_directory` (for the usual checks and
report), `reproduction` (a pytest file).
"""
