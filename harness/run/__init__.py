"""One run as real processes: plan, start, wait for the goal, stop, judge.

Judging itself belongs to `checks`, which reads the finished run directory. Traffic, scheduler and
recorder are separate processes; this package only starts, watches and stops them. Several runs are
the work of `campaign`.
"""
