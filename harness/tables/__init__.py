"""The record of a run as a few tables, defined once: for pandas and SQL.

DuckDB is imported only when a query runs (the extra `analysis` installs it), pandas when a table is
asked for. Judging and code of the checks do not belong here.
"""
