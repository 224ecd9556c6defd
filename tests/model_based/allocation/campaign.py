"""Many random problems; with a defect, the problems in which it is found.

`python -m tests.model_based.allocation.campaign 20000` prints how often each feature occurred, and
`… 20000 --defect NAME` how many problems find the defect; the exit code is 1 if the default subject
disagrees with the solver, or if the defect is not found.
"""

import argparse
import collections
import sys
from collections.abc import Iterable

from harness.subject import assembling
from harness.subject.scheduling import schedulers
from tests.model_based.allocation import comparing


def found(seeds: Iterable[int], parts: schedulers.SchedulerParts) -> dict[int, str]:
    """Return why the problems of these seeds disagree, by seed."""
    disagreeing = {}
    for seed in seeds:
        try:
            comparing.compare(seed, parts)
        except Exception as error:  # a defect may end in any way
            disagreeing[seed] = f"{type(error).__name__}: {error}"
    return disagreeing


def main() -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", type=int, help="number of problems")
    parser.add_argument("--first", type=int, default=0, help="seed of the first problem")
    parser.add_argument("--defect", action="append", default=[], help="a known defect")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.problems)
    if given.defect:
        return _find(seeds, given.defect)
    total: collections.Counter[str] = collections.Counter()
    wrong = 0
    for seed in seeds:
        try:
            total += comparing.compare(seed)
        except comparing.DisagreementError as error:
            wrong += 1
            sys.stdout.write(f"problem {seed}: {error}\n")
    for feature, occurred in sorted(total.items()):
        sys.stdout.write(f"{feature:50}{occurred:7}\n")
    sys.stdout.write(f"{len(seeds) - wrong} of {len(seeds)} problems agree\n")
    return 1 if wrong else 0


def _find(seeds: range, defects: list[str]) -> int:
    parts = assembling.parts(defects)
    disagreeing = found(seeds, parts)
    first = next(iter(disagreeing), None)
    why = "" if first is None else f", first {first}: {disagreeing[first]}"
    sys.stdout.write(f"{'+'.join(defects)}: {len(disagreeing)} of {len(seeds)} problems{why}\n")
    return 0 if disagreeing else 1


if __name__ == "__main__":
    sys.exit(main())
