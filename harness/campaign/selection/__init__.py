"""Which runs a campaign makes: those that an expression selects, those that failed before; how long
they take. The plan of all runs, and how they are made, do not belong here.
"""
