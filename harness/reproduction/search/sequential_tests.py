"""Decides after as few runs as possible whether a scenario fails in at least half of its runs.

Wald's sequential probability ratio test ("Sequential Tests of Statistical Hypotheses", 1945): after
each run the likelihood of a scenario that fails often is compared to that of one that fails rarely.
Three failures in a row accept a scenario, two runs without a failure reject it. A scenario between
the two rates is decided by a majority when the limit of runs is reached.
"""

import math

OFTEN, RARELY = 0.75, 0.35
"""Rates of failure that the test distinguishes."""
ERROR = 0.15
"""Probability of a wrong decision about a scenario that fails at one of the two rates."""
RUNS_MAX = 9
"""Default limit of runs for one scenario."""
_FAILED = math.log(OFTEN / RARELY)
_PASSED = math.log((1 - OFTEN) / (1 - RARELY))
_BOUND = math.log((1 - ERROR) / ERROR)


def decide(failed: int, runs: int, *, runs_max: int = RUNS_MAX) -> bool | None:
    """Return True to accept a scenario that failed in `failed` of `runs`, False to reject it.

    None: another run is needed.
    """
    evidence = failed * _FAILED + (runs - failed) * _PASSED
    if evidence >= _BOUND:
        return True
    if evidence <= -_BOUND:
        return False
    return None if runs < runs_max else is_half(failed, runs)


def is_half(failed: int, runs: int) -> bool:
    """Return whether at least half of the runs failed; False without runs."""
    return runs > 0 and 2 * failed >= runs
