"""A folder of reports in a browser: a server on loopback that only reads.

Requests are admitted by `access`, files are opened by `served_folders`, rows of runs come from
`listings`. Journals are read by processes of their own (`reading_children`), which end with the
answer. Not in here: reports of runs themselves (see `report`), and what `watch` shows (see `live`).
"""
