"""Checks of this machine: what each provider needs, whether it is present, and how to fix it.

Nothing is started or changed here, except that the harness's own state folder is created.
"""
