"""Figures of a run for tables and charts. No verdict depends on them.

Contents: `memory_figures`, `run_figures`.
"""
