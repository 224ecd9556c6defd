"""The violations of a run as its page shows them, each with what explains it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.checks import verdicts
from harness.report import evidence
from harness.report.causes import deciding_writes, explaining, log_causes, strips
from harness.report.explanations import texts
from harness.report.replay import race_events, replays, watches

CARDS_MAX = 20
"""Violations of one check that the report shows in full."""


class Card(NamedTuple):
    """One violation on the page."""

    anchor: str
    """`double-3` for the third double allocation, otherwise with the name of its check."""
    violation: verdicts.Violation
    strip: strips.Strip | None = None
    """The picture of a double allocation; None for every other violation."""
    writes: Sequence[deciding_writes.Write] = ()
    """The deciding writes of a double allocation; empty if they are not known."""
    replay: replays.Replay | None = None
    """The moments of a double allocation; None: they are not known, or are left out."""
    log: str = ""
    """Lines of the schedulers' logs about a double allocation without steps, line by line."""
    why: str = ""
    """The cause of a double allocation as text; empty for every other violation."""

    @property
    def label(self) -> str:
        found = self.violation
        objects = [item.name for item in found.objects[:1]]
        names = [found.device] if isinstance(found, verdicts.DoubleAllocation) else objects
        versions = (f"at version {version}" for version in found.resource_versions[-1:])
        return " ".join([*names, *versions]) or self.anchor


class Section(NamedTuple):
    """The violations of one check on the page."""

    check: verdicts.CheckResult
    cards: Sequence[Card]


def sections_of(source: evidence.Evidence) -> Iterator[Section]:
    races, logs = _races(source), log_causes.LogCauses()
    if not all(map(explaining.are_of_scheduler, source.steps)):
        logs.read(source.history.directory)
    for check in source.judgement.checks:
        cards = []
        for number, violation in enumerate(check.violations, start=1):
            if isinstance(violation, verdicts.DoubleAllocation):
                cards.append(_card(number, next(races), logs))
            else:
                cards.append(Card(f"{check.check}-{number}", violation))
        if cards:
            yield Section(check, cards[:CARDS_MAX])


def _races(source: evidence.Evidence) -> Iterator[race_events.Race]:
    doubles = source.double_allocations
    replayed = doubles[: replays.REPLAYS_MAX]
    writes = deciding_writes.DecidingWrites(doubles[:CARDS_MAX])
    writes.read(source.history)
    sent = watches.sent_to(source.reads, replayed)
    watched = watches.Watches(source.received, sent)
    for violation, steps in zip(doubles, source.steps, strict=True):
        yield race_events.Race(source, violation, steps, writes, watched)


def _card(number: int, race: race_events.Race, logs: log_causes.LogCauses) -> Card:
    """Return the card of a double allocation: a commit has one time in all of its parts."""
    source, times = race.source, race_events.commit_times(race)
    violation = race_events.at_commits(race.violation, times)
    race = race._replace(violation=violation)
    strip = strips.strip(violation, race.steps, source.names, source.held)
    has_steps = explaining.are_of_scheduler(race.steps)
    log = None if has_steps else logs.of(violation)
    reasons = (
        log_causes.text(log) if log else "",
        "" if has_steps else log_causes.by_reads(violation, source.reads),
    )
    return Card(
        f"double-{number}",
        violation,
        strip,
        [
            item._replace(ts_ns=times.get(item.resource_version, item.ts_ns))
            for item in race.writes.of(violation)
        ],
        replays.replay(race, zero_ns=strip.zero_ns) if number <= replays.REPLAYS_MAX else None,
        "\n".join(texts.of_double_allocation(log)) if log else "",
        " ".join(filter(None, reasons)) or strip.why,
    )
