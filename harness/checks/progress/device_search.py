"""Searches devices for what several requests of a pod ask for together.

The devices of all requests are on one node, no two are the same, their counters suffice for all of
them, and the constraints of their claims hold. Of a request with alternatives, one is enough.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from harness.checks.devices import attributes, device_catalogue
from harness.checks.observed import observed_claims
from harness.checks.progress import device_supply

STEPS_MAX = 10_000
"""Devices that are tried for one pod; after that, it is a doubt."""
CHOICES_MAX = 64
"""Combinations of alternatives that are tried."""


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One device of a request, or all of a need that no claim has made yet."""

    claim: int
    """Number of the claim among those of the pod; -1: there is none."""
    request: str
    need: device_supply.Need


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """The devices for a pod."""

    where: tuple[str, list[str]] | None
    """Node and devices; None: there are none."""
    is_doubtful: bool = False
    """It is not known whether there are any."""
    admin: bool = False
    """All of them are open to admin access."""


Chosen: TypeAlias = list[tuple[Part, device_supply.Offered]]
_NOWHERE = device_catalogue.Place()


class _TooManyError(Exception):
    """More devices would have to be tried than STEPS_MAX."""


def search(
    supply: device_supply.DeviceSupply,
    claims: Sequence[observed_claims.Claim],
    nodes: Iterable[str] | None,
    *,
    beside: Mapping[tuple[str, ...], int],
) -> Found:
    """Return devices for these claims; `nodes` None: any node.

    `beside` are devices that the pod needs on top, by the kind of their requests.
    """
    choices = list(itertools.islice(_choices(claims, beside), CHOICES_MAX + 1))
    is_doubtful = len(choices) > CHOICES_MAX
    for parts in choices[:CHOICES_MAX]:
        found = _place(supply, claims, parts, nodes) if parts is not None else _DOUBT
        if found.where is not None:
            return found
        is_doubtful |= found.is_doubtful
    return Found(None, is_doubtful)


_DOUBT = Found(None, is_doubtful=True)


def _choices(
    claims: Sequence[observed_claims.Claim], beside: Mapping[tuple[str, ...], int]
) -> Iterator[list[Part] | None]:
    """Yield the parts for each choice of alternatives; None: a request is no number of devices."""
    extra = [Part(-1, "", device_supply.Need(kind, n, admin=False)) for kind, n in beside.items()]
    requests = [
        [_part(number, request.name, option) for option in request.options]
        for number, claim in enumerate(claims)
        for request in claim.spec.devices.requests or ()
    ]
    for chosen in itertools.product(*requests):
        parts = [part for part in chosen if part is not None]
        yield [*parts, *extra] if len(parts) == len(chosen) else None


def _part(claim: int, request: str, option: observed_claims.ExactRequest) -> Part | None:
    if not option.is_plain_count:
        return None
    name = f"{request}/{option.name}" if isinstance(option, observed_claims.SubRequest) else request
    need = device_supply.Need(option.kind, option.count, admin=option.admin_access)
    return Part(claim, name, need)


def _place(
    supply: device_supply.DeviceSupply,
    claims: Sequence[observed_claims.Claim],
    parts: Sequence[Part],
    nodes: Iterable[str] | None,
) -> Found:
    admin = all(part.need.admin for part in parts)
    try:
        for node in supply.nodes(admin=admin) if nodes is None else nodes:
            chosen = _Search(supply, claims, parts, node).chosen()
            if chosen is not None:
                names = [item.id for part, item in chosen if admin or not part.need.admin]
                return Found((node, names), admin=admin)
    except _TooManyError:
        return _DOUBT
    return Found(None, any(supply.has_unknown(part.need) for part in parts))


class _Search:
    """A search on one node: each device is tried for each place that it could take."""

    def __init__(
        self,
        supply: device_supply.DeviceSupply,
        claims: Sequence[observed_claims.Claim],
        parts: Sequence[Part],
        node: str,
    ) -> None:
        self._supply, self._claims = supply, claims
        self._candidates = {part: supply.fitting(part.need, node) for part in parts}
        self._places = [part for part in parts for _ in range(part.need.count)]
        self._steps = 0

    def chosen(self) -> Chosen | None:
        """Return the devices; None: there are none. Raises _TooManyError."""
        if any(len(found) < part.need.count for part, found in self._candidates.items()):
            return None
        return self._fill([], 0)

    def _fill(self, chosen: Chosen, since: int) -> Chosen | None:
        """Choose devices for the places that are left; `since`: the next one of the same request.

        The devices of one request are tried in their order only: they are all the same to it.
        """
        if len(chosen) == len(self._places):
            return chosen
        part = self._places[len(chosen)]
        if not chosen or chosen[-1][0] != part:
            since = 0
        for index in range(since, len(self._candidates[part])):
            self._steps += 1
            if self._steps > STEPS_MAX:
                raise _TooManyError
            longer = [*chosen, (part, self._candidates[part][index])]
            if self._holds(longer) and (found := self._fill(longer, index + 1)) is not None:
                return found
        return None

    def _holds(self, chosen: Chosen) -> bool:
        names = [item.id for part, item in chosen if not part.need.admin]
        if len(set(names)) < len(names) or not self._are_constraints_kept(chosen):
            return False
        counted = [item for part, item in chosen if item.is_counted and not part.need.admin]
        return not counted or self._supply.have_room(counted)

    def _are_constraints_kept(self, chosen: Chosen) -> bool:
        number = chosen[-1][0].claim
        constraints = self._claims[number].spec.devices.constraints if number >= 0 else None
        mine = [(part.request, item) for part, item in chosen if part.claim == number]
        return all(_is_kept(item, mine) for item in constraints or ())


def _is_kept(
    constraint: observed_claims.Constraint, chosen: Sequence[tuple[str, device_supply.Offered]]
) -> bool:
    listed = constraint.requests
    covered = [
        device_catalogue.KnownDevice(item.driver, item.known, _NOWHERE)
        for request, item in chosen
        if not listed or request in listed or request.partition("/")[0] in listed
    ]
    for name, agree in (
        (constraint.match_attribute, attributes.have_one_in_common),
        (constraint.distinct_attribute, attributes.are_disjoint),
    ):
        values = [attributes.values_of(device, name) for device in covered] if name else []
        known = [item for item in values if item is not None]
        if len(known) < len(values) or not agree(known):
            return False
    return True
