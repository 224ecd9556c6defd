"""The checks: from a run directory to a verdict.

Pure functions of recorded evidence. Clocks, network and code of the subject do not belong here,
nor does rendering (see `report`). A check that cannot decide returns UNKNOWN, and one about whose
guarantee a run says nothing returns `NotExamined`; the certificate lists the evidence that a VALID
verdict rests on.
"""
