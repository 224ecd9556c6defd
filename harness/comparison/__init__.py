"""Runs and campaigns against each other: which settings differ, and what else by more than chance.

Runs are not judged again: their verdicts and figures are read (see `history`). Runs under another
load are never averaged.
"""
