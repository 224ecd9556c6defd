"""Which runs and campaigns there are, and how they ended: read from their small files alone.

Nothing is judged here (see `checks`), and journals are not opened: thousands of runs are read in
seconds.
"""
