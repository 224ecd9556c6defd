"""Run directories as SQL views, and an independent second judge of exclusivity in SQL.

DuckDB reads the files; it is imported only when a query runs (the extra `analysis` installs it).
Code of the checks does not belong here: the second judge folds the holds by itself.

Contents: `database`, `hold_views`, `loading`, `second_judge`, `views`.
"""
