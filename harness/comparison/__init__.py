"""Runs and campaigns against each other: which settings differ, and what else by more than chance.

Runs are not judged again: their verdicts and figures are read (see `archive`). Runs under another
load are never averaged.

Contents: `comparing`, `comparison_pages`, `comparison_texts`, `corrected_answers`, `documents`,
`fixes`, `rate_comparisons`, `run_groups`, `run_plots`, `setting_differences`, `sides`,
`time_comparisons`.
"""
