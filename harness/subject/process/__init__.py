"""The scheduler and the claim controller as processes of their own.

Settings and standing by for the lease, and the records that a process leaves. The work
of the subject does not belong here.
"""
