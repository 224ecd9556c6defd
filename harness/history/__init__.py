"""The run directory and its records: their format, writing and reading.

Evidence is written before judging and never changed. Verdicts, analysis and pandas do not belong
here (see `checks`).

Contents: `clock_domains`, `compressed_files`, `directories`, `files`, `histories`,
`journal_reader`, `journal_tails`, `journal_writer`, `last_words`, `manifests`, `plans`, `records`,
`retention`, `subject_names`, `zstd_frames`.
"""
