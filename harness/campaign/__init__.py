"""Many runs: scenarios times subjects times repetitions, spread over the cores by pytest-xdist, and what they come to together.

Each xdist worker has a cluster of its own and makes run after run on it. The process handling of one run belongs to `run`,
judging to `checks`.
"""
