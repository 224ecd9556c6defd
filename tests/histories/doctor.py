"""Doctors run directories and judges them: no edit may turn INVALID or UNKNOWN into VALID.

    .venv/bin/python -m tests.histories.doctor 50000 [SEED]

goes on from where the suite ends, and prints each edit that made a verdict better, raised an error
or took more than a second of processor time, with the seed that repeats it. The directories are
the golden ones, the recorded runs beside this file, and those of `audited_specimens`.

An edit drops, repeats, swaps or cuts records of a journal or events of the audit log, or changes
one value in one of them. The trailer and the manifest are made right afterwards, so that only the
contents can tell. plan.json is left alone: it says what is asked of the run, and has no second
witness.
"""

import argparse
import dataclasses
import pathlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from harness.checks import judging, verdicts
from harness.history import directories
from tests.histories import audited_specimens, edits, specimens

FIRST_SEED = 1
SLOW_S = 1.0
"""Seconds of processor time that judging may take; most directories take 5 ms."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A doctored directory that was judged wrongly."""

    specimen: str
    seed: int
    edit: str
    """The edit in words."""
    problem: str

    def __str__(self) -> str:
        return f"{self.specimen}, seed {self.seed}: {self.edit}: {self.problem}"


@dataclasses.dataclass(slots=True)
class Tally:
    """The results of many doctored directories."""

    judged: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    findings: list[Finding] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        mean_ms = 1e3 * self.seconds / max(self.judged, 1)
        return (
            f"{self.judged} directories, {len(self.findings)} judged wrongly or slowly; "
            f"{mean_ms:.1f} ms each, the slowest {self.slowest_s:.2f} s"
        )


def doctored(
    known: Sequence[specimens.Specimen], seeds: Iterator[int], folder: pathlib.Path
) -> Iterator[tuple[Finding | None, float]]:
    """Yield a finding, or None, and the seconds of judging, for one edit for each seed."""
    for seed in seeds:
        chosen = known[seed % len(known)]
        edit = edits.draw(chosen, random.Random(seed))
        directory = specimens.write(chosen, folder / chosen.name.replace("/", "-"), edit.changed)
        began = time.process_time()
        problem = "" if _is_consistent(chosen, edit) else _problem(directory, chosen)
        took = time.process_time() - began
        problem = problem or (f"took {took:.2f} s" if took > SLOW_S else "")
        yield (Finding(chosen.name, seed, edit.text, problem) if problem else None), took
        specimens.restore(chosen, directory, edit.changed)


SOLE_WITNESS = b'"name":"found"'
"""The phase of a run that ended at its first finding. No other record tells it: without it, the
history is that of a run which was stopped later, and nothing in it is wrong."""


def _is_consistent(chosen: specimens.Specimen, edit: edits.Edit) -> bool:
    """Return whether an edit leaves a history that is complete and agrees with itself."""
    return any(
        SOLE_WITNESS in chosen.files[name] and SOLE_WITNESS not in (content or b"")
        for name, content in edit.changed.items()
    )


def _problem(directory: directories.RunDirectory, chosen: specimens.Specimen) -> str:
    """Return what is wrong with the verdict on a doctored directory; empty: nothing."""
    try:
        verdict = verdict_on(directory)
    except Exception as error:
        return f"raised {error!r}"
    return f"{chosen.verdict} became VALID" if verdict is verdicts.Verdict.VALID else ""


class CheckError(Exception):
    """A check raised an error, which judging turned into UNKNOWN."""


def verdict_on(directory: directories.RunDirectory) -> verdicts.Verdict:
    """Judge a directory; raise CheckError if a check failed instead of answering."""
    judgement = judging.judge(directory)
    broken = [check.reason for check in judgement.checks if check.reason.startswith(_BROKEN)]
    if broken:
        raise CheckError("; ".join(broken))
    return judgement.verdict


_BROKEN = "the check failed: "
"""Beginning of the reason of a check that raised."""


def worse_than_valid() -> list[specimens.Specimen]:
    found = [*specimens.all_of_them(), *audited_specimens.all_of_them()]
    return [item for item in found if item.verdict is not verdicts.Verdict.VALID]


def run(count: int, *, first: int = FIRST_SEED, show: bool = False) -> Tally:
    """Judge this many doctored directories; `show` prints findings as they come."""
    known, tally = worse_than_valid(), Tally()
    with tempfile.TemporaryDirectory() as folder:
        seeds = iter(range(first, first + count))
        for finding, took in doctored(known, seeds, pathlib.Path(folder)):
            tally.judged += 1
            tally.seconds += took
            tally.slowest_s = max(tally.slowest_s, took)
            if finding is not None:
                tally.findings.append(finding)
                if show:
                    print(finding, flush=True)
    return tally


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int, help="how many directories to doctor and judge")
    parser.add_argument("seed", type=int, nargs="?", default=FIRST_SEED, help="of the first one")
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _arguments()
    tally = run(chosen.count, first=chosen.seed, show=True)
    print(tally)
    sys.exit(bool(tally.findings))
