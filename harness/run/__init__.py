"""One run as real processes: plan it, start everything, wait for the goal, stop everything, judge the directory.

No judging in here (that is `checks`, called on the finished directory), no traffic code, no scheduler code: those are
processes that this package starts, watches and stops. Many runs are a campaign's business.
"""
