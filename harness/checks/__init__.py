"""The judges: from a run directory to a verdict, and nothing else.

Pure functions of what was recorded: no clock, no network, no code of the subject. A judge that cannot tell says UNKNOWN; the
certificate says what a VALID verdict rests on. No drawing (that is `report`).
"""
