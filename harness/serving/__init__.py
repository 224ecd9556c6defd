"""A folder of reports in a browser: a server on loopback that only reads.

The index of `report` is its first page. Files are opened by `served_folders`, and `live` tells how
far a run is, also to `watch`. Not in here: reports of runs themselves (see `report`).
"""
