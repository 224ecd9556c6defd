"""Values that all packages share: the identity of devices, names of fake objects and processes.

I/O, pandas and the decoding of API objects do not belong here: `checks` and `subject` decode them
separately, so that both cannot make the same mistake.
"""
