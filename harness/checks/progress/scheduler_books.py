"""The check of the scheduler's own books: at rest, they say the same as the API.

The Python scheduler writes its books when it is stopped (steps `scheduler.books`): the devices that
it counts as allocated, its claims in flight, and the claims in its assume cache. A difference is a
defect even if it has not led to a double allocation or a stuck pod yet. Books of a scheduler that
was killed, or stopped while claims were changing, are not examined.
"""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.checks import check_results, protocol, verdicts, world_states
from harness.checks.holds import hold_history
from harness.checks.observed import observed_claims
from harness.checks.progress import device_supply
from harness.checks.schedulers import written_books
from harness.history import plans

QUIET_S = 1.0
"""Seconds without a change of any claim before the books are written: the cluster is at rest, and
the scheduler has received all events."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A statement of the books that the API contradicts."""

    summary: str
    text: str
    """One sentence without its period."""
    claims: tuple[observed_claims.Claim, ...] = ()


def applies(plan: plans.Plan) -> bool:
    """Return whether a Python scheduler of this plan writes books when the cluster is at rest."""
    return plan.progress_s is not None and any(
        name != written_books.CONTROLLER for name in plan.expected_steps
    )


def check(evidence: protocol.Evidence) -> verdicts.CheckResult:
    """Return INVALID with all differences, VALID without any, UNKNOWN if no books are examined."""
    left, final = evidence[written_books.BooksOfSchedulers], evidence[world_states.WorldState]
    refusals = {name: _refusal(books, evidence) for name, books in left.items()}
    differences = [
        difference
        for name, books in left.items()
        if books is not None and not refusals[name]
        for difference in compare(name, books, final)
    ]
    examined = [name for name, reason in refusals.items() if not reason]
    return check_results.of_found(
        CHECK,
        differences,
        verdict=check_results.verdict(differences, is_kept=bool(examined)),
        examined_count=len(examined),
        violation=_violation,
        summary=lambda item: item.summary,
        reason="; ".join([*_told(examined, differences), *_refused(refusals)])
        or "no scheduler left books",
    )


def _told(examined: Sequence[str], differences: Sequence[Difference]) -> Iterator[str]:
    if differences:
        others = f", and {len(differences) - 1} more" * (len(differences) > 1)
        yield f"the books differ from the API: {differences[0].summary}{others}"
    elif examined:
        yield f"the books of {', '.join(examined)} equal the API"


def _refused(refusals: Mapping[str, str]) -> Iterator[str]:
    """Yield the reasons why books were not examined, each with its schedulers."""
    for reason in dict.fromkeys(filter(None, refusals.values())):
        names = [name for name, why in refusals.items() if why == reason]
        yield f"not examined: {', '.join(names)} ({reason})"


def _refusal(books: written_books.Books | None, evidence: protocol.Evidence) -> str:
    """Return why books cannot be compared; empty if they can."""
    stream = evidence[hold_history.HoldHistory].stream(world_states.CLAIMS)
    if books is None:
        return "no books: killed, or stopped before it began"
    if not stream.has_final_list or stream.live != stream.final:
        return "the final state of the claims is not known"
    quiet_s = (books.ts_ns - evidence[world_states.WorldState].claims_changed_ns) / 1e9
    if quiet_s < QUIET_S:
        return f"stopped while claims changed, or less than {QUIET_S:g} s afterwards"
    return ""


# --------------------------------------------------------------------------- comparing


def compare(
    name: str, books: written_books.Books, state: world_states.WorldState
) -> Iterator[Difference]:
    """Yield what is wrong in the books of a scheduler, given the state of the API."""
    yield from _compare_in_flight(name, books, state.claims)
    yield from _compare_devices(name, books, state.claims.values())
    yield from _compare_claims(name, books, state.claims)


def _compare_in_flight(
    name: str, books: written_books.Books, known: Mapping[str, observed_claims.Claim]
) -> Iterator[Difference]:
    for uid in books.in_flight:
        called = known[uid].metadata.name if uid in known else uid
        yield Difference(
            summary=f"{name}: claim {called} is still in flight",
            text=f"{name} keeps claim {called} (uid {uid}) in flight, although it is at rest",
            claims=(known[uid],) if uid in known else (),
        )


def _compare_devices(
    name: str, books: written_books.Books, known: Iterable[observed_claims.Claim]
) -> Iterator[Difference]:
    holders: dict[str, list[observed_claims.Claim]] = collections.defaultdict(list)
    for claim in known:
        for device in device_supply.exclusive(claim):
            holders[device].append(claim)
    for device in sorted(books.devices - holders.keys()):
        yield Difference(
            summary=f"{name}: {device} counts as allocated, but no claim holds it",
            text=f"{name} counts device {device} as allocated, but no claim holds it: it is lost",
        )
    for device in sorted(holders.keys() - books.devices):
        names = ", ".join(claim.metadata.name for claim in holders[device])
        yield Difference(
            summary=f"{name}: {device} counts as free, but {names} holds it",
            text=f"{name} counts device {device} as free, but it is allocated to claim {names}: it "
            "can be allocated again",
            claims=tuple(holders[device]),
        )


def _compare_claims(
    name: str, books: written_books.Books, known: Mapping[str, observed_claims.Claim]
) -> Iterator[Difference]:
    """Compare the claims in the cache with those that exist, at most one difference for each."""
    for uid in sorted(books.claims.keys() - known.keys()):
        yield Difference(
            summary=f"{name}: the cache has a claim that does not exist",
            text=f"{name} has claim {uid} in its cache, which does not exist any more",
        )
    for uid, claim in sorted(known.items()):
        wrong = _wrong(books, claim)
        if wrong:
            meta = claim.metadata
            yield Difference(
                summary=f"{name}: the cache has {wrong} of claim {meta.name}",
                text=f"{name} has {wrong} of claim {meta.key} (uid {uid}) in its cache; the API has "
                f"version {meta.resource_version} with {_listed(_devices(claim))}",
                claims=(claim,),
            )


def _wrong(books: written_books.Books, claim: observed_claims.Claim) -> str:
    """Return what the cache has instead of a claim; empty if it has the claim."""
    cached = books.claims.get(claim.metadata.uid)
    if cached is None:
        return "no version"
    if cached.version != claim.metadata.resource_version:
        return f"version {cached.version}"
    if sorted(cached.devices) != _devices(claim):
        return f"an allocation with {_listed(cached.devices)}"
    return ""


def _devices(claim: observed_claims.Claim) -> list[str]:
    return sorted(item.id for item in claim.results)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "no device"


def _violation(item: Difference) -> verdicts.Violation:
    return verdicts.Violation(
        guarantee=CHECK.name,
        summary=item.summary,
        text=f"{item.text}.",
        resource_versions=sorted({int(claim.metadata.resource_version) for claim in item.claims}),
        objects=[claim.involved for claim in item.claims],
    )


CHECK = protocol.Check(
    name="scheduler_books",
    guarantee="P",
    promise="at rest, the scheduler's own books equal the API",
    applies=applies,
    needs=(world_states.WorldState, hold_history.HoldHistory, written_books.BooksOfSchedulers),
    judge=check,
    at_rest=True,
)
