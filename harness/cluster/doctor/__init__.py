"""Checks of this machine: the requirements of each provider, and how to meet missing ones.

Nothing is started or changed here, except that the harness's own state folder is created.
"""
