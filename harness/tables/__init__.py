"""Run directories as SQL views, and an independent second judge of exclusivity in SQL.

DuckDB reads the files, and writes the views as Parquet (an export); it is imported only when a
query runs (the extra `analysis` installs it). Memory is limited: the rest is on disk.
Code of the checks does not belong here: the second judge folds the holds by itself.
"""
