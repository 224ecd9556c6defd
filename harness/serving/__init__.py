"""A folder of reports in a browser: a server on loopback that only reads.

Files are opened by `served_folders`, and rows of runs link to reports; `live` tells how far a run
is, also to `watch`. Not in here: reports of runs themselves (see `report`).
"""
