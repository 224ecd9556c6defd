"""The part of a run's order that its finding needs."""

import dataclasses
import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from harness.apiserver.storage import watch_cache
from harness.confirmation import api_atoms, following
from harness.explore.search import explored_run, search_campaign, shrink_world, tokens
from harness.explore.worlds import api_events

Fails = Callable[[Sequence[api_atoms.Atom]], bool]
"""Returns whether a run in this order has the finding."""
DELAY_MAX = 3
"""Number of requests of a client by which an event for it may be later than in a run."""
DRAWN = 60
"""Number of orders that are drawn, if none of the simple ones fails."""
_KEPT = 0.7
"""Probability with which a drawn order says when an event is delivered."""
_PLANNED = "resourceclaims"
"""The resource whose events change plans; others begin them."""
SEARCH_S = 30.0
"""Time to look for another run of the same world, in seconds, if the order of one is not enough."""
TRIES_MAX = 400
"""Maximum number of runs of the world while the order is made shorter."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NeededOrder:
    """A run whose finding follows from the order of some atoms."""

    finding: str
    needed: list[api_atoms.Atom]
    """The atoms whose order matters."""
    course: list[api_atoms.Atom]
    """All atoms of the run, in order, without the rests."""
    is_own: bool = True
    """False if it is the order of another run of the same world, with the same finding."""
    initial: list[watch_cache.Commit]
    """The commits of the objects that are there from the beginning."""


def of_token(token: tokens.Token) -> NeededOrder | None:
    """Return the order of a token's run that its finding needs, or of another run alike.

    None: what they found needs more than an order of atoms.
    """
    own = _of_run(token)
    kind = kind_of(search_campaign.replay(token).finding)
    if own is not None or not kind:
        return own
    others = (_of_run(other) for other in _others(token, kind))
    found = next(filter(None, others), None)
    return found and dataclasses.replace(found, is_own=False)


def _others(token: tokens.Token, kind: str) -> Iterator[tokens.Token]:
    """Yield other runs of a token's world whose finding is of the same kind, for some time.

    The first is its own, shrunk.
    """
    until_s = time.monotonic() + SEARCH_S
    yield shrink_world.smallest(token)
    for seed in itertools.count(1):
        hunt = search_campaign.Hunt(
            scenario=token.scenario,
            defects=token.defects,
            remedies=token.remedies,
            strategy=("random", "pct")[seed % 2],
            seed=seed,
            schedules=None,
            time_s=max(until_s - time.monotonic(), 0.0),
            sizes=token.sizes,
        )
        *_, progress = search_campaign.explore(hunt)
        for finding, decisions in progress.findings:
            if kind_of(finding) == kind:
                yield shrink_world.smallest(hunt.token(decisions))
        if time.monotonic() >= until_s:
            return


def _of_run(token: tokens.Token) -> NeededOrder | None:
    """Return the order of a token's run that its finding needs; None: no order is enough."""
    found = search_campaign.replay(token, record=True)
    kind = kind_of(found.finding)

    def fails(order: Sequence[api_atoms.Atom]) -> bool:
        return kind_of(following.follow(token, order).finding) == kind

    whole = next((order for order in _alike(found.events) if kind and fails(order)), None)
    if whole is None:
        return None
    needed = _shortened([atom for atom in whole if not atom.is_free], fails)
    needed = _shortened(_simpler(needed, fails), fails)
    needed = _with_late_pods(needed, whole, fails)
    run = following.follow(token, needed, record=True)
    return NeededOrder(
        finding=run.finding or "",
        needed=needed,
        course=api_atoms.of_run(run.events, with_answers=True),
        initial=_initial(run),
    )


def _simpler(order: list[api_atoms.Atom], fails: Fails) -> list[api_atoms.Atom]:
    """Return an order that asks less of the program and still fails.

    A late request becomes one whose answer is lost; and where the order waits for a request that
    comes by itself, it waits some time instead, because a program without the defect might not
    send it.
    """
    for place, atom in enumerate(order):
        if atom.fault == "delay-request":
            answerless = msgspec.structs.replace(atom, fault="lose-response")
            rest = [late for late in order[place + 1 :] if late.kind != "arrival"]
            if fails(simpler := [*order[:place], answerless, *rest]):
                order = simpler
                break
    for place, atom in enumerate(order):
        simpler = [*order[:place], api_atoms.rest(place), *order[place + 1 :]]
        is_own = atom.kind == "request" and atom.event.client != api_events.USER
        if is_own and not atom.fault and fails(simpler):
            order = simpler
    return order


def _with_late_pods(
    order: list[api_atoms.Atom], whole: Sequence[api_atoms.Atom], fails: Fails
) -> list[api_atoms.Atom]:
    """Return the order with the first event of each pod as late as before the last rest.

    A pod that was tried too early waits for an event, and programs differ in the events that help.
    """
    if any(atom.kind == "process" for atom in whole):
        return order  # a successor finds the pods in its list
    for place, rest in reversed(list(enumerate(order))):
        if rest.kind == "rest":
            for atom in filter(is_new_pod, whole):
                later = [*order[:place], atom, *order[place:]]
                if atom not in order and fails(later):
                    order, place = later, place + 1  # noqa: PLW2901 - the rest has moved
            return order
    return order


def is_new_pod(atom: api_atoms.Atom) -> bool:
    """Return whether a scheduler hears of a pod for the first time."""
    is_schedulers = atom.kind == "event" and atom.event.client.startswith(api_events.SCHEDULER)
    return is_schedulers and atom.changes[0][0].startswith("pods/") and atom.changes[0][1] == 1


def _alike(events: Sequence[api_events.ApiEvent]) -> Iterator[list[api_atoms.Atom]]:
    """Yield orders in which the clients of a run may have known what they knew.

    A client may have made a plan before it had an event, and have sent the request after it.
    Delivering the event after the request is the same to it. Which events are like that, the record
    does not show: several are tried.
    """
    stream = random.Random(0)
    for with_answers in (False, True):
        order = api_atoms.of_run(events, with_answers=with_answers)
        yield order
        for delay in range(1, DELAY_MAX + 1):
            yield _delayed(order, lambda atom: delay * (str(atom.key[2]).startswith(_PLANNED)))  # noqa: B023
    for _ in range(DRAWN):
        order = api_atoms.of_run(events, with_answers=bool(stream.getrandbits(1)))
        kept = [atom for atom in order if atom.kind != "event" or stream.random() < _KEPT]
        yield _delayed(kept, lambda _: max(0, stream.randint(-DELAY_MAX, DELAY_MAX)))


def _delayed(
    order: Sequence[api_atoms.Atom], delay_of: Callable[[api_atoms.Atom], int]
) -> list[api_atoms.Atom]:
    """Return the order with each event after as many requests of its client as `delay_of` says."""
    made: list[api_atoms.Atom] = []
    waiting: list[tuple[int, api_atoms.Atom]] = []
    for atom in order:
        if atom.kind == "event" and (delay := delay_of(atom)):
            waiting.append((delay, atom))
            continue
        made.append(atom)
        if atom.kind == "request":
            client = atom.event.client
            left = [(number - (late.event.client == client), late) for number, late in waiting]
            made += [late for number, late in left if not number]
            waiting = [(number, late) for number, late in left if number]
    return made + [late for _, late in waiting]


def _initial(run: explored_run.ExploredRun) -> list[watch_cache.Commit]:
    """Return the newest commits of the objects that are there when a run begins."""
    begun = next(
        event.commits[0].object.resource_version
        for event in _after_beginning(run.events)
        if event.kind == "committed" and event.commits
    )
    newest = {
        (item.resource, item.object.name): item
        for _, item in run.commits
        if item.object.resource_version < begun
    }
    return list(newest.values())


def _after_beginning(events: Sequence[api_events.ApiEvent]) -> Iterator[api_events.ApiEvent]:
    return itertools.dropwhile(lambda event: event.kind != "begins", events)


def kind_of(finding: str | None) -> str:
    """Return the first word of a finding, its kind; empty: there is none."""
    return (finding or "").partition(" ")[0]


def _shortened(order: list[api_atoms.Atom], fails: Fails) -> list[api_atoms.Atom]:
    """Leave out atoms as long as the rest still fails: halves, quarters, …, single ones."""
    tries, size = TRIES_MAX, max(len(order) // 2, 1)
    while order and tries:
        for start in range(0, len(order), size):
            tries -= 1
            rest = order[:start] + order[start + size :]
            if fails(rest):
                order = rest
                break
        else:
            if size == 1:
                break
            size //= 2
    return order
