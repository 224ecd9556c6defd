"""Output of commands: amount and form, progress, verdicts, tables, annotations.

Contents: `annotations`, `displaying`, `outputs`, `streams`, `tables`.
"""
