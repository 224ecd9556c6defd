"""Packs: runs and campaigns as one file that travels, and that is judged as it is.

`making` makes the file and `packs` reads it. Judging and rendering do not belong here.
"""
