"""Names the race behind a double allocation, from the order of its lines: a module for each.

Not in here: whether there is a double allocation (`stories`), and how it is told.
"""
