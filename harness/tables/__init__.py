"""The record of a run as a few tables, defined once: for pandas, SQL and Parquet files.

An independent second judge of exclusivity counts in SQL; it reads the journals by itself. DuckDB is
imported only when a query runs or an export is written (the extra `analysis` installs it), pandas
when a table is asked for. Judging and code of the checks do not belong here.
"""
