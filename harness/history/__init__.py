"""The run directory and its records: their format, writing and reading.

Evidence is written before judging and never changed. Verdicts, analysis and pandas do not belong
here (see `checks`).
"""
