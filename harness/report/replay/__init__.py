"""The moments of a double allocation, in order, each with what was stored, planned and seen then.

Pictures and causes do not belong here: the moments are told from the records that these are made
of. A part of the state that no record shows is named as unknown.
"""
