"""Tries orders of a program's threads: the objects of a script, again and again.

Which threads are held is drawn as in probabilistic concurrency testing: a few visits of places, of
those that the tries before had, at which a thread waits until nothing else happens.
"""

import collections
import contextlib
import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from harness import clocks
from harness.checks.holds import live_spotter
from harness.client import apis
from harness.history import journal_writer, records
from harness.model import thread_places
from harness.model.objects import Object
from harness.run.faulting.scripted import holding, script_objects, thread_holding
from harness.scenario import script_specs
from harness.threads import messages

_REMEMBERED = 20
"""Tries from whose visits a try is drawn."""
_REPEATS, GOOD = 4, 0.5
"""Repetitions of an order that has failed, and the share of them that has to fail, too."""
_GONE_S = 10.0
_WEIGHT_ALONE, _WEIGHT_SPEAKING = 0.1, 4
_SPEAKING = re.compile("claim|device|alloc", re.IGNORECASE)
"""Functions of these names are drawn more often than those of caches and queues."""
_WAIT_S = 0.05
"""How long a call or event waits, in the tries in which some do."""
_WAITS = ("", "", "request", "answer", "event")
Chosen = Sequence[script_specs.HeldVisit]


class OrderSearch:
    """The tries of one step."""

    def __init__(
        self,
        step: script_specs.TryOrders,
        script: script_specs.ScriptTraffic,
        objects: script_objects.ScriptObjects,
        threads: thread_holding.ThreadHolds,
        holds: holding.Holds,
        *,
        seed: int,
        is_over: Callable[[], bool],
    ) -> None:
        self._step, self._script, self._objects = step, script, objects
        self._threads, self._holds, self._is_over = threads, holds, is_over
        self._random = random.Random(seed)
        self._visits: collections.deque[dict[str, int]] = collections.deque(maxlen=_REMEMBERED)
        """Place -> visits, of the last tries."""
        self._weights: dict[str, float] = {}
        """Place -> how much more often it is drawn: what only one goroutine uses cannot race."""

    def run(self, journal: journal_writer.Writer) -> str:
        """Try orders until one gives a device to two claims, or the time is up; say so."""
        until_ns = clocks.monotonic_ns() + self._step.seconds * 1e9
        number, found = 0, 0
        while number < self._step.tries and clocks.monotonic_ns() < until_ns:
            number, waits = number + 1, self._step.waits
            chosen = self._draw(number)
            tried = self._try(
                number, chosen, self._random.choice(_WAITS) if waits == "drawn" else waits
            )
            journal.write(tried)
            found += bool(tried.found)
            if tried.found and self._step.stops:
                again = list(self._again(tried))
                journal.write_many(again)
                number, found = number + len(again), found + sum(bool(one.found) for one in again)
                if sum(bool(one.found) for one in again) >= GOOD * len(again):
                    break
        return f"{number} orders were tried; {found} gave a device to two claims"

    def _again(self, tried: records.OrderTried) -> Iterator[records.OrderTried]:
        chosen = [script_specs.HeldVisit(hold.place, hold.visit) for hold in tried.holds]
        for number in range(tried.number + 1, tried.number + 1 + _REPEATS):
            one = self._try(number, chosen, tried.waits)
            yield msgspec.structs.replace(one, repeats=tried.number)

    def _try(self, number: int, chosen: Chosen, waits: str) -> records.OrderTried:
        if self._is_over():
            raise holding.StepLateError("the run ended before all orders were tried")
        begun_ns, name = clocks.monotonic_ns(), f"try-{number}"
        self._threads.begin_try(self._step, name, chosen)
        with self._slowed(waits):
            for item in self._script.objects:
                self._objects.create(_named(item, number))
            is_done, found = self._outcome()
        told = self._threads.end_try(self._step.client, name)
        self._remove()
        visits = self._learn(told)
        return records.OrderTried(
            number=number,
            chosen=[(item.at, item.visit) for item in chosen],
            waits=waits,
            holds=_holds(told),
            visits=visits,
            found=found,
            is_done=is_done,
            begun_ns=begun_ns,
            ended_ns=clocks.monotonic_ns(),
        )

    def _learn(self, told: Sequence[messages.Happened]) -> dict[str, int]:
        ended = next(item for item in told if item.kind == "ended")
        self._visits += [ended.counts] if ended.counts else []
        for place in ended.counts:
            speaks = _SPEAKING.search(thread_places.short(thread_places.parse(place).function))
            weight = ended.sharing[place] - 1 + _WEIGHT_ALONE
            self._weights[place] = weight * (_WEIGHT_SPEAKING if speaks else 1)
        return ended.counts

    # ------------------------------------------------------------------------------ choices

    def _draw(self, number: int) -> Chosen:
        if self._step.chosen:
            return self._step.chosen[(number - 1) % len(self._step.chosen)]
        if not self._visits or not self._step.depth:
            return []
        visits = self._random.choice(self._visits)  # most tries are like one of those before
        places = sorted(visits)
        weights = [self._weights[place] for place in places]
        count = self._random.randint(1, self._step.depth)
        drawn = dict.fromkeys(self._random.choices(places, weights, k=count))
        return [
            script_specs.HeldVisit(place, self._random.randint(1, visits[place])) for place in drawn
        ]

    @contextlib.contextmanager
    def _slowed(self, kind: str) -> Iterator[None]:
        if kind:
            self._holds.slow(self._step.client, kind, _WAIT_S)
        try:
            yield
        finally:
            self._holds.let_go("slow", self._step.client)

    # ------------------------------------------------------------------------------ one try

    def _outcome(self) -> tuple[bool, str]:
        until_ns = clocks.monotonic_ns() + script_specs.TRY_S * 1e9
        while True:
            found = _given_twice(self._objects.all(apis.CLAIMS))
            pods = self._objects.all(apis.PODS)
            is_done = all(pod["spec"].get("nodeName") for pod in pods)
            if found or is_done or clocks.monotonic_ns() > until_ns:
                return is_done, found
            clocks.sleep(holding.POLL_S)

    def _remove(self) -> None:
        for resource in (apis.PODS, apis.CLAIMS, apis.CLAIM_TEMPLATES):
            self._objects.delete_all(resource)
        clocks.wait_until(
            lambda: not any(map(self._objects.all, (apis.PODS, apis.CLAIMS))),
            timeout_s=_GONE_S,
            why="the objects of a try to be gone",
        )


def _named(item: script_specs.ScriptObject, number: int) -> script_specs.ScriptObject:
    """A claim that takes the name of one that has gone is a hazard of its own (H22)."""

    def named(names: Sequence[str]) -> list[str]:
        return [f"{name}-{number}" for name in names]

    (name,) = named([item.name])
    of_pod = {"claims": named(item.claims), "templates": named(item.templates)}
    return item.model_copy(update={"name": name, **of_pod})


def _given_twice(claims: Sequence[Object]) -> str:
    """Return a device that two claims have, and these; empty: none. It decides when to stop."""
    spotter = live_spotter.Spotter()
    for claim in claims:
        spotter.note(claim["metadata"]["name"], claim)
    return "{}: {} and {}".format(*spotter.found) if spotter.found else ""


def _holds(told: Sequence[messages.Happened]) -> list[records.ThreadHold]:
    holds: dict[tuple[int, str], list[records.ThreadHold]] = {}
    for item in told:
        own = holds.setdefault((item.goroutine, item.place), [])
        if item.kind == "held":
            own.append(
                records.ThreadHold(
                    place=item.place,
                    visit=item.visit,
                    goroutine=item.goroutine,
                    stack=item.stack,
                    begun_ns=item.ts_ns,
                    ended_ns=item.ts_ns,
                    during={},
                )
            )
        elif item.kind in ("expired", "released") and own:
            own[-1] = msgspec.structs.replace(own[-1], ended_ns=item.ts_ns, during=item.counts)
    return sorted(itertools.chain(*holds.values()), key=lambda hold: hold.begun_ns)
