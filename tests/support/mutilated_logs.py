"""Logs of correct schedulers, and what gets lost, doubled or mixed up on their way."""

import functools
import lzma
import random
import re
from collections.abc import Callable, Sequence

from tests.support import log_lines

Entries = list[str]
_BEGIN = re.compile(r"[IWEF]\d{4} \d\d:")
_MESSAGES = ("allocation", "Reserved", "resource claims", "Gather", "Assumed", "Removed", "bind")
RUNS = {
    "two replicas": ("replica-previous", "replica-current", "replica-other"),
    "claims that are planned again": ("planned-again",),
}
"""Runs of our correct scheduler, with the logs of their processes."""


def content(name: str) -> str:
    return lzma.decompress((log_lines.FOLDER / f"{name}.log.xz").read_bytes()).decode()


@functools.cache
def entries(name: str) -> tuple[str, ...]:
    """A log in entries: a line with those that continue it."""
    whole: Entries = []
    for line in content(name).splitlines(keepends=True):
        if _BEGIN.match(line) or not whole:
            whole.append("")
        whole[-1] += line
    return tuple(whole)


def _part(stream: random.Random, log: Entries) -> tuple[int, int]:
    begin = stream.randrange(len(log))
    return begin, begin + round(len(log) ** stream.uniform(0.1, 0.95))


def _gap(stream: random.Random, log: Entries) -> Entries:
    for _ in range(stream.choice([1, 1, 2, 4])):
        begin, end = _part(stream, log)
        log = log[:begin] + log[end:] or log[:1]
    return log


def _rate_limit(stream: random.Random, log: Entries) -> Entries:
    rate = stream.choice([0.003, 0.01, 0.03, 0.1, 0.3])
    return [entry for entry in log if stream.random() >= rate]


def _lost_lines(stream: random.Random, log: Entries) -> Entries:
    return _rate_limit(stream, [line for entry in log for line in entry.splitlines(keepends=True)])


def _doubled(stream: random.Random, log: Entries) -> Entries:
    begin, end = _part(stream, log)
    place = stream.randrange(len(log))
    return log[:place] + log[begin:end] + log[place:]


def _moved(stream: random.Random, log: Entries) -> Entries:
    begin, end = _part(stream, log)
    rest = log[:begin] + log[end:]
    place = stream.randrange(len(rest) + 1)
    return rest[:place] + log[begin:end] + rest[place:]


def _filtered(stream: random.Random, log: Entries) -> Entries:
    word = stream.choice(_MESSAGES)
    return [entry for entry in log if word not in entry.partition("\n")[0]]


_LOSSES: Sequence[Callable[[random.Random, Entries], Entries]] = (
    *(_gap, _gap, _rate_limit, _lost_lines, _doubled, _moved, _filtered),
)


def mutilated(run: Sequence[str], seed: object) -> list[str]:
    """Return the texts of one call: the processes' logs without parts, or mixed up."""
    stream = random.Random(str(seed))
    chosen = stream.sample(run, stream.randint(1, len(run)))
    logs = []
    for name in chosen:
        log = list(entries(name))
        for _ in range(stream.choice([1, 1, 2, 3])):
            log = stream.choice(_LOSSES)(stream, log) or log[:1]
        logs.append(log)
    match stream.choice(["files", "in a row", "by time", "parts"]):
        case "in a row":
            logs = [[entry for log in logs for entry in log]]
        case "by time":
            logs = [sorted((entry for log in logs for entry in log), key=lambda entry: entry[:21])]
        case "parts":
            logs = [log[part::3] for log in logs for part in (0, 2)]
            logs = [log for log in logs if log]
    return ["".join(log) for log in logs]
