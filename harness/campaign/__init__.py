"""Many runs: scenarios times subjects times repetitions, and their results.

pytest-xdist spreads them over the cores; each worker has its own cluster and executes one run after
the other on it. The processes of one run belong to `run`, judging belongs to `checks`.
"""
