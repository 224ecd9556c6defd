"""Checks of this machine: what each provider needs, whether it is there, and the command that repairs it.

Nothing is started or changed here, except the harness's own state folder.
"""
