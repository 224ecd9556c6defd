"""The run directory and its records: writing them, reading them, nothing else.

Everything left of `verdict.json` is written before judging and never changed. No verdicts, no analysis, no
pandas here, and nothing that knows what a good run is.
"""
