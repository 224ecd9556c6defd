"""Plays a script: its objects and steps, in order, against the processes of a run.

Not in here: what a script may say (`scenario.scripts`), whether it was followed, which is judged
from the run directory (`checks.certificate`), and deriving one from an explored run.
"""
