"""`flake-hunt watch`: a table of a run or a campaign while it goes on, lines without a terminal.

`--metrics-port` of `run` and `hunt` is here, too.
"""
