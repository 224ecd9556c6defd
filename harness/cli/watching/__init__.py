"""`flake-hunt watch`: a table of a run or a campaign while it goes on, lines without a terminal."""
