"""A folder of reports in a browser: a server on loopback that only reads.

The index of `report` is its first page. Files are opened by `served_folders`. `live_runs` tells how
far a run is, also to `watch`, from its growing files, so that looking costs the measured processes
nothing. Not in here: reports of runs themselves (see `report`).
"""
