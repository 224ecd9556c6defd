"""Run directories and their records, and folders of reports and campaigns: writing and reading.

Evidence is written before judging and never changed. Judging, analysis and pandas do not belong
here (see `checks`). Folders are summarized from their small files, without opening a journal, so
that thousands of runs are read in seconds.
"""
