"""Searches devices for what the claims of a pod ask for together, by trying them.

The devices of all claims are reached from one node, no two places have one device (but shares of
one may serve several requests), counters and capacities suffice for all of them, and the
constraints of the claims hold. A request for all devices gets all that satisfy it, or none of them.
Of a request with alternatives, one is enough.

A node is searched twice. First only with what is certain: devices that are found stand for a pod
that could run. If there are none, once more with what may be: without any then, the pod could not
run; otherwise it is a doubt. So is a search that takes too many steps.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from harness.checks.devices import claim_constraints, request_options
from harness.checks.observed import observed_claims
from harness.checks.progress import device_supply, request_fits

STEPS_MAX = 20_000
"""Devices that are tried for one pod; after that, it is a doubt."""
CHOICES_MAX = 64
"""Combinations of alternatives that are tried."""
RESULTS_MAX = 32
"""Devices that a claim can have; the API's limit."""
NO_CLAIM = -1
"""Number of the claim of a part for which there is none yet."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One request of a claim, or all of a need that no claim has made yet."""

    claim: int
    """Number of the claim among those of the pod, or NO_CLAIM."""
    request: str
    """The name by which results and constraints name it."""
    wanted: observed_claims.ExactRequest

    @property
    def is_all(self) -> bool:
        """True if it asks for all devices."""
        return self.wanted.allocation_mode == "All"


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """The devices for a pod."""

    where: tuple[str, list[str]] | None
    """Node and devices; None: there are none."""
    is_doubtful: bool = False
    """It is not known whether there are any."""
    admin: bool = False
    """All of them are open to admin access."""


Place: TypeAlias = tuple[Part, device_supply.Offered, device_supply.Amounts]
"""A device that is chosen for a part, and what is taken of its capacities."""
_Candidates: TypeAlias = list[tuple[device_supply.Offered, request_fits.Fit]]
_DOUBT = Found(None, is_doubtful=True)


class _TooManyError(Exception):
    """More devices would have to be tried than STEPS_MAX."""


class DeviceSearch:
    """Searches in one supply, from which found devices are taken."""

    def __init__(self, supply: device_supply.DeviceSupply, fits: request_fits.RequestFits) -> None:
        self._supply, self._fits = supply, fits
        self._steps = 0
        self._failing: dict[request_fits.Key, bool] = {}

    def search(
        self,
        claims: Sequence[observed_claims.Claim],
        nodes: Collection[str] | None,
        *,
        beside: Mapping[tuple[str, ...], int],
    ) -> Found:
        """Return devices for these claims, and take them; `nodes` None: any node.

        `beside` are devices that the pod needs on top, by the kind of their requests.
        """
        self._steps = 0
        choices = list(itertools.islice(_choices(claims, beside), CHOICES_MAX + 1))
        if len(choices) > CHOICES_MAX:
            return _DOUBT
        try:
            return self._search(claims, choices, nodes)
        except _TooManyError:
            return _DOUBT

    def _search(
        self,
        claims: Sequence[observed_claims.Claim],
        choices: Sequence[Sequence[Part]],
        nodes: Collection[str] | None,
    ) -> Found:
        names = [name for name in self._supply.nodes if nodes is None or name in nodes]
        is_failing = self._is_failing(choices)
        if not is_failing:
            for name, parts in itertools.product(names, choices):
                chosen = self._chosen(claims, parts, name, is_sure=True)
                if chosen is not None:
                    return self._taken(name, chosen)
        hopeful = names if names or self._supply.nodes else [""]
        is_doubtful = any(
            self._chosen(claims, parts, name, is_sure=False) is not None
            for name, parts in itertools.product(hopeful, choices)
        )
        return Found(None, is_doubtful)

    def _is_failing(self, choices: Sequence[Sequence[Part]]) -> bool:
        """Return whether a selector fails on some device: a scheduler may give up at it."""
        return any(self._fails(part.wanted) for part in itertools.chain(*choices))

    def _fails(self, wanted: observed_claims.ExactRequest) -> bool:
        if not self._fits.has_selectors(wanted):
            return False
        key = request_fits.key(wanted)
        if key not in self._failing:
            offered = self._supply.offered
            self._failing[key] = any(self._fits.of(wanted, item).fails for item in offered)
        return self._failing[key]

    def _taken(self, node: str, chosen: Sequence[Place]) -> Found:
        admin = all(part.wanted.admin_access for part, _, _ in chosen)
        names = [item.id for part, item, _ in chosen if admin or not part.wanted.admin_access]
        for part, item, amounts in chosen:
            if not part.wanted.admin_access:
                self._supply.left.take(item, amounts)
        return Found((node, names), admin=admin)

    # ------------------------------------------------------------------------- one node

    def _chosen(
        self,
        claims: Sequence[observed_claims.Claim],
        parts: Sequence[Part],
        node: str,
        *,
        is_sure: bool,
    ) -> list[Place] | None:
        """Return the devices of a node for these parts; None: there are none."""
        places: list[Part] = []
        candidates: dict[Part, _Candidates] = {}
        for part in parts:
            found = self._candidates(part, node, is_sure=is_sure)
            count = len(found) if part.is_all else part.wanted.count
            if len(found) < max(count, 1):
                return None
            candidates[part] = found
            places += [part] * count
        if any(_is_too_long(places, number) for number in range(len(claims))):
            return None
        return _Filling(self, claims, places, candidates, is_sure=is_sure).run()

    def _candidates(self, part: Part, node: str, *, is_sure: bool) -> _Candidates:
        """Return the devices that may be chosen for a part; of one that asks for all, all of them.

        Empty if one of all devices is missing, or not known.
        """
        found, is_tainted = [], False
        for item, is_there in self._on(node):
            fit = self._fits.of(part.wanted, item)
            is_tainted |= fit.is_tainted
            if fit.is_good is not False:
                found.append((item, fit, is_there and item.is_certain))
        certain = [(item, fit) for item, fit, there in found if there and fit.is_good]
        if not part.is_all:
            kept = certain if is_sure else [(item, fit) for item, fit, _ in found]
            return [pair for pair in kept if self._is_free(part, pair[0])]
        spoiled = self._supply.is_spoiled(node)
        if spoiled or is_tainted or (is_sure and (spoiled is None or len(certain) < len(found))):
            return []
        if any(not self._is_free(part, item) for item, _ in certain):
            return []
        return certain or ([] if is_sure else [(item, fit) for item, fit, _ in found[:1]])

    def _on(self, node: str) -> Sequence[tuple[device_supply.Offered, bool]]:
        if node:
            return self._supply.on_node(node)
        return [(item, False) for item in self._supply.somewhere]

    def _is_free(self, part: Part, item: device_supply.Offered) -> bool:
        return part.wanted.admin_access or self._supply.left.is_free(item)

    @property
    def left(self) -> device_supply.Left:
        """The counters, capacities and devices that are left."""
        return self._supply.left

    def count_step(self) -> None:
        """Count a device that is tried. Raises _TooManyError."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise _TooManyError


@dataclasses.dataclass(frozen=True, slots=True)
class _Taken:
    """A device that is chosen for a place."""

    part: Part
    item: device_supply.Offered
    amounts: device_supply.Amounts
    was_first: bool
    """The device is in use only since then."""


class _Filling:
    """Tries each device for each place that it could take."""

    def __init__(
        self,
        search: DeviceSearch,
        claims: Sequence[observed_claims.Claim],
        places: Sequence[Part],
        candidates: Mapping[Part, _Candidates],
        *,
        is_sure: bool,
    ) -> None:
        self._search, self._claims, self._left = search, claims, search.left
        self._places, self._candidates, self._is_sure = places, candidates, is_sure
        self._chosen: list[_Taken] = []

    def run(self) -> list[Place] | None:
        """Return the devices; None: there are none. Leaves the supply as it was.

        Raises _TooManyError.
        """
        try:
            is_found = self._fill(0)
            return [(it.part, it.item, it.amounts) for it in self._chosen] if is_found else None
        finally:
            while self._chosen:
                self._give_back()

    def _fill(self, since: int) -> bool:
        """Choose devices for the places that are left; `since`: the next one of the same request.

        The devices of one request are tried in their order only: they are all the same to it. One
        that is like one that failed is left out.
        """
        if len(self._chosen) == len(self._places):
            return True
        part = self._places[len(self._chosen)]
        if not self._chosen or self._chosen[-1].part is not part:
            since = 0
        candidates, failed = self._candidates[part], set[tuple[object, ...]]()
        for index in range(since, since + 1 if part.is_all else len(candidates)):
            item, fit = candidates[index]
            if (kind := self._kind(item)) in failed:
                continue
            self._search.count_step()
            amounts = fit.most if self._is_sure else fit.least
            if self._may_have(part, item, amounts):
                self._take(part, item, amounts)
                if self._fill(index + 1):
                    return True
                self._give_back()
            failed.add(kind)
        return False

    def _kind(self, item: device_supply.Offered) -> tuple[object, ...]:
        """Return the same for devices that are alike; one that is in use is like no other."""
        if self._left.is_charged(item):
            return (item.id,)
        return item.content, item.pool if item.counters else None

    def _take(
        self, part: Part, item: device_supply.Offered, amounts: device_supply.Amounts
    ) -> None:
        takes = not part.wanted.admin_access
        was_first = self._left.take(item, amounts) if takes else False
        self._chosen.append(_Taken(part, item, amounts, was_first))

    def _give_back(self) -> None:
        taken = self._chosen.pop()
        if not taken.part.wanted.admin_access:
            self._left.give_back(taken.item, was_first=taken.was_first)

    def _may_have(
        self, part: Part, item: device_supply.Offered, amounts: device_supply.Amounts
    ) -> bool:
        others = [taken.part for taken in self._chosen if taken.item is item]
        if not all(self._may_both(part, other, item) for other in others):
            return False
        needs_room = not part.wanted.admin_access or (item.is_shared and self._is_sure)
        if needs_room and not self._left.has_room(item, amounts):
            return False
        if not (part.wanted.admin_access or self._left.is_free(item)):
            return False
        return self._are_constraints_kept(part, item)

    def _may_both(self, part: Part, other: Part, item: device_supply.Offered) -> bool:
        """Return whether two places may have one device.

        No request gets it twice, and no claim twice for admin access. Another claim of the pod may
        have it beside admin access or not: that depends on the order in which a scheduler looks.
        """
        if part is other:
            return False
        both = part.wanted.admin_access, other.wanted.admin_access
        if any(both):
            return part.claim != other.claim and (all(both) or not self._is_sure)
        return item.is_shared

    def _are_constraints_kept(self, part: Part, item: device_supply.Offered) -> bool:
        if part.claim == NO_CLAIM:
            return True
        mine = [(it.part.request, it.item) for it in self._chosen if it.part.claim == part.claim]
        chosen = [*mine, (part.request, item)]
        return all(
            claim_constraints.holds(
                rule,
                [it.known for request, it in chosen if claim_constraints.covers(rule, request)],
            )
            for rule in self._claims[part.claim].spec.devices.constraints or ()
        )


def _is_too_long(places: Sequence[Part], claim: int) -> bool:
    return sum(part.claim == claim for part in places) > RESULTS_MAX


def _choices(
    claims: Sequence[observed_claims.Claim], beside: Mapping[tuple[str, ...], int]
) -> Iterator[list[Part]]:
    extra = [
        Part(NO_CLAIM, "", observed_claims.ExactRequest(device_class_name=kind[0], count=count))
        for kind, count in beside.items()
    ]
    options = [
        [Part(number, option.name, option.wanted) for option in request_options.options_of(request)]
        for number, claim in enumerate(claims)
        for request in claim.spec.devices.requests or ()
    ]
    for chosen in itertools.product(*options):
        yield [*chosen, *extra]
