"""Charts of a run over time, each with its numbers as a table.

They read the holds as arrays, so that a million of them take no more time to draw than a thousand
lines of text. Faults and phases are shaded on all of them. Pages do not belong here.
"""
