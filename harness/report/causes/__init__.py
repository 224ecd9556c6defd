"""The cause of a double allocation: what the scheduler read, what it missed, and how that is shown.

Pages and charts of whole runs do not belong here.
"""
