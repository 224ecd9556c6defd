"""Plug-ins of other packages: which are installed, how they are loaded, and what they may return.

A plug-in is an entry point of one of the groups `flake_hunt.<kind>`. Nothing of a plug-in is
imported before it is used. Checks, subjects and the users of a load run in processes of their own
with a time limit, so that none of them can break or block this process. The use of a kind of
plug-ins belongs to its consumer: `scenario`, `checks`, `run`, `subject`, `traffic`.
"""
