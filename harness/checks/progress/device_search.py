"""Searches devices for what the claims of a pod ask for together, by trying them.

The devices of all claims are reached from one node, no two places have one device (but shares of
one may serve several requests), counters and capacities suffice for all of them, and the
constraints of the claims hold. A request for all devices gets all that satisfy it, or none of them.
Of a request with alternatives, one is enough. An observer may not know whether a device satisfies a
request: the class was not observed, or a selector fails on it, which ends a scheduler's attempt.

A node is searched twice. First only with what is certain: devices that are found stand for a pod
that could run. If there are none, once more with what may be: without any then, the pod could not
run; otherwise it is a doubt. So is a search that takes too many steps.
"""

import collections
import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from harness.checks import plan_facts
from harness.checks.devices import capacities, cel_selectors, requested_devices
from harness.checks.observed import observed_claims, observed_cluster
from harness.checks.progress import device_supply, world_states
from harness.model import quantities

_Key: TypeAlias = tuple[object, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """The answer for a request and a device."""

    is_good: bool | None
    """None: that is not known."""
    is_tainted: bool = False
    """Nothing but a taint keeps it from the request, or may do so."""
    least: device_supply.Amounts = dataclasses.field(default_factory=dict)
    most: device_supply.Amounts = dataclasses.field(default_factory=dict)
    """The amounts that the request takes of the capacities; the API may leave two of them open."""
    fails: bool = False
    """A selector fails on the device: a scheduler that looks at it gives up."""


class RequestFits:
    """Answers, each found once."""

    def __init__(self, state: world_states.WorldState, settings: Mapping[str, Any]) -> None:
        self._granted = state.granted
        self._classes = {
            name: observed_claims.expressions(spec.selectors)
            for name, spec in state.classes.items()
        }
        self._pools: Mapping[str, Any] = settings.get("pools") or {}
        self._known: dict[_Key, dict[bytes, Fit]] = {}

    def of(self, wanted: observed_claims.ExactRequest, item: device_supply.Offered) -> Fit:
        amounts = tuple(sorted(wanted.quantities.items()))
        key = wanted.kind, str(wanted.tolerations), amounts
        answers = self._known.setdefault(key, {})
        found = answers.get(item.content)
        if found is None:
            found = answers[item.content] = self._fit(wanted, item)
        if found.is_good is None and (wanted.kind, item.id) in self._granted:
            return dataclasses.replace(found, is_good=True, fails=False)
        return found

    def has_selectors(self, wanted: observed_claims.ExactRequest) -> bool:
        return bool(wanted.selectors or self._classes.get(wanted.device_class_name))

    def _fit(self, wanted: observed_claims.ExactRequest, item: device_supply.Offered) -> Fit:
        selected = self._selected(wanted, item)
        amounts = selected if selected.is_good is False else _amounts(wanted, item)
        if amounts.is_good is False:
            return amounts
        for taint in item.taints:
            if not any(observed_cluster.tolerates(it, taint) for it in wanted.tolerations or ()):
                return Fit(is_good=False, is_tainted=True)
        return dataclasses.replace(amounts, is_good=selected.is_good)

    def _selected(self, wanted: observed_claims.ExactRequest, item: device_supply.Offered) -> Fit:
        """Return whether the selectors of class and request select a device."""
        of_class = self._classes.get(wanted.device_class_name)
        if self._classes and of_class is None:
            return Fit(is_good=False)  # the class does not exist
        answers = [] if of_class is not None else [self._is_of_class(wanted, item)]
        for expression in (*(of_class or ()), *wanted.expressions):
            answers.append(requested_devices.matches(item.known, expression))
            if answers[-1] is False:
                selector = cel_selectors.selector(expression)
                return Fit(is_good=False, fails=selector.fails(item.pool[0], item.known.device))
        return Fit(is_good=False if False in answers else None if None in answers else True)

    def _is_of_class(
        self, wanted: observed_claims.ExactRequest, item: device_supply.Offered
    ) -> bool | None:
        """Return whether the plan shows that a class that was not observed selects a device."""
        offered = self._pools.get("device_class") or {}
        if wanted.device_class_name != offered.get("name"):
            return None
        owner = self._pools.get("owner")
        own = ((item.known.device.attributes or {}).get("owner") or {}).get("string", "")
        imported = plan_facts.imported(self._pools).get("drivers") or ()
        of_drivers = item.pool[0] in (self._pools.get("driver"), *imported)
        if not of_drivers or (owner and own != owner):
            return False
        return None if offered.get("selectors") else True


def _amounts(wanted: observed_claims.ExactRequest, item: device_supply.Offered) -> Fit:
    """Return what a request takes of a device; it is not good without the capacity for it."""
    device, driver = item.known.device, item.pool[0]
    if not (item.is_shared or wanted.quantities):
        return Fit(is_good=True)
    try:
        takes = capacities.of_device(device, driver, wanted.quantities)
        is_enough = capacities.is_enough(device, driver, wanted.quantities)
    except (capacities.AmbiguousNamesError, quantities.QuantityError):
        return Fit(is_good=None)
    if not (is_enough and item.is_shared):
        return Fit(is_good=is_enough)
    return Fit(
        is_good=True,
        least={name: min(taken.amounts, default=Fraction(0)) for name, taken in takes.items()},
        most={name: max(taken.amounts, default=Fraction(0)) for name, taken in takes.items()},
    )


# ---------------------------------------------------------------------------- the search
STEPS_MAX = 20_000
"""Devices that are tried for one pod; after that, it is a doubt."""
CHOICES_MAX = 64
"""Combinations of alternatives that are tried."""
RESULTS_MAX = 32
"""Devices that a claim can have; the API's limit."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One request of a claim, or all of a need that no claim has made yet."""

    claim: observed_claims.Claim | None
    """None: there is none yet."""
    request: str
    """The name by which results and constraints name it."""
    wanted: observed_claims.ExactRequest


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """The devices for a pod."""

    where: tuple[str, list[str]] | None
    """Node and devices; None: there are none."""
    is_doubtful: bool = False
    """It is not known whether there are any."""
    admin: bool = False
    """All of them are open to admin access."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    """A device that is chosen for a part, and what is taken of its capacities."""

    part: Part
    item: device_supply.Offered
    amounts: device_supply.Amounts
    was_first: bool
    """The device is in use only since then."""


_Candidates: TypeAlias = list[tuple[device_supply.Offered, Fit]]


class _TooManyError(Exception):
    """More devices would have to be tried than STEPS_MAX."""


class DeviceSearch:
    """Searches in the devices of one state, from which found devices are taken."""

    def __init__(self, state: world_states.WorldState, settings: Mapping[str, Any]) -> None:
        self.supply = device_supply.DeviceSupply(state)
        self._fits = RequestFits(state, settings)
        self._steps = 0
        self._failing: dict[tuple[str, ...], bool] = {}

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
        try:
            return self._search(choices, nodes)
        except _TooManyError:
            return Found(None, is_doubtful=True)

    def _search(self, choices: Sequence[Sequence[Part]], nodes: Collection[str] | None) -> Found:
        if len(choices) > CHOICES_MAX:
            raise _TooManyError
        names = [name for name in self.supply.nodes if nodes is None or name in nodes]
        if not any(self._fails(part.wanted) for part in itertools.chain(*choices)):
            for name, parts in itertools.product(names, choices):
                chosen = self._chosen(parts, name, is_sure=True)
                if chosen is not None:
                    return self._taken(name, chosen)
        hopeful = names if names or self.supply.nodes else [""]
        is_doubtful = any(
            self._chosen(parts, name, is_sure=False) is not None
            for name, parts in itertools.product(hopeful, choices)
        )
        return Found(None, is_doubtful)

    def _fails(self, wanted: observed_claims.ExactRequest) -> bool:
        """Return whether a selector fails on some device: a scheduler may give up at it."""
        if wanted.kind not in self._failing:
            offered = self.supply.offered if self._fits.has_selectors(wanted) else ()
            self._failing[wanted.kind] = any(self._fits.of(wanted, item).fails for item in offered)
        return self._failing[wanted.kind]

    def _taken(self, node: str, chosen: Sequence[_Place]) -> Found:
        admin = all(place.part.wanted.admin_access for place in chosen)
        own = [place for place in chosen if not place.part.wanted.admin_access]
        for place in own:
            self.supply.left.take(place.item, place.amounts)
        return Found((node, [place.item.id for place in own or chosen]), admin=admin)

    # ------------------------------------------------------------------------- one node

    def _chosen(
        self, parts: Sequence[Part], node: str, *, is_sure: bool
    ) -> Sequence[_Place] | None:
        """Return the devices of a node for these parts; None: there are none."""
        wanted: list[Part] = []
        candidates: dict[Part, _Candidates] = {}
        for part in parts:
            found = self._candidates(part, node, is_sure=is_sure)
            count = len(found) if part.wanted.number is None else part.wanted.number
            if len(found) < max(count, 1):
                return None
            candidates[part] = found
            wanted += [part] * count
        counts = collections.Counter(id(part.claim) for part in wanted if part.claim is not None)
        if any(count > RESULTS_MAX for count in counts.values()):
            return None
        return _Filling(self, wanted, candidates, is_sure=is_sure).run()

    def _candidates(self, part: Part, node: str, *, is_sure: bool) -> _Candidates:
        """Return the devices that may be chosen for a part; of one that asks for all, all of them.

        Empty if one of all devices is missing, or not known.
        """
        found, is_tainted = [], False
        for item, is_there in self.supply.on_node(node):
            fit = self._fits.of(part.wanted, item)
            is_tainted |= fit.is_tainted
            if fit.is_good is not False:
                found.append((item, fit, is_there and item.is_certain))
        certain = [(item, fit) for item, fit, there in found if there and fit.is_good]
        if part.wanted.number is not None:
            kept = certain if is_sure else [(item, fit) for item, fit, _ in found]
            return [pair for pair in kept if self.is_free(part, pair[0])]
        spoiled = self.supply.is_spoiled(node)
        if spoiled or is_tainted or (is_sure and (spoiled is None or len(certain) < len(found))):
            return []
        if any(not self.is_free(part, item) for item, _ in certain):
            return []
        return certain or ([] if is_sure else [(item, fit) for item, fit, _ in found[:1]])

    def is_free(self, part: Part, item: device_supply.Offered) -> bool:
        return part.wanted.admin_access or self.supply.left.is_free(item)

    def count_step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise _TooManyError


class _Filling:
    """Tries each device for each of the wanted places that it could take."""

    def __init__(
        self,
        search: DeviceSearch,
        wanted: Sequence[Part],
        candidates: Mapping[Part, _Candidates],
        *,
        is_sure: bool,
    ) -> None:
        self._search, self._left, self._is_sure = search, search.supply.left, is_sure
        self._wanted, self._candidates = wanted, candidates
        self._chosen: list[_Place] = []

    def run(self) -> Sequence[_Place] | None:
        """Return the devices; None: there are none. Leaves the supply as it was.

        Raises _TooManyError.
        """
        try:
            return tuple(self._chosen) if self._fill(0) else None
        finally:
            while self._chosen:
                self._give_back()

    def _fill(self, since: int) -> bool:
        """Choose devices for the places that are left; `since`: the next one of the same request.

        The devices of one request are tried in their order only: they are all the same to it. One
        that is like one that failed is left out.
        """
        if len(self._chosen) == len(self._wanted):
            return True
        part = self._wanted[len(self._chosen)]
        if not self._chosen or self._chosen[-1].part is not part:
            since = 0
        candidates, failed = self._candidates[part], set[tuple[object, ...]]()
        takes_all = part.wanted.number is None
        for index in range(since, since + 1 if takes_all else len(candidates)):
            item, fit = candidates[index]
            if (kind := self._kind(item)) in failed:
                continue
            self._search.count_step()
            amounts = fit.most if self._is_sure else fit.least
            if self._may_have(part, item, amounts):
                takes = not part.wanted.admin_access
                was_first = takes and self._left.take(item, amounts)
                self._chosen.append(_Place(part, item, amounts, was_first))
                if self._fill(index + 1):
                    return True
                self._give_back()
            failed.add(kind)
        return False

    def _kind(self, item: device_supply.Offered) -> tuple[object, ...]:
        """Return the same for devices that are alike; one that is in use is like no other."""
        if self._left.is_charged(item):
            return (item.id,)
        return item.content, item.pool if item.known.counters else None

    def _give_back(self) -> None:
        place = self._chosen.pop()
        if not place.part.wanted.admin_access:
            self._left.give_back(place.item, was_first=place.was_first)

    def _may_have(
        self, part: Part, item: device_supply.Offered, amounts: device_supply.Amounts
    ) -> bool:
        others = [place.part for place in self._chosen if place.item is item]
        if not all(self._may_both(part, other, item) for other in others):
            return False
        needs_room = not part.wanted.admin_access or (item.is_shared and self._is_sure)
        if needs_room and not self._left.has_room(item, amounts):
            return False
        return self._search.is_free(part, item) and self._are_constraints_kept(part, item)

    def _may_both(self, part: Part, other: Part, item: device_supply.Offered) -> bool:
        """Return whether two places may have one device.

        No request gets it twice, and no claim twice for admin access. Another claim of the pod may
        have it beside admin access or not: that depends on the order in which a scheduler looks.
        """
        if part is other:
            return False
        both = part.wanted.admin_access, other.wanted.admin_access
        if any(both):
            return part.claim is not other.claim and (all(both) or not self._is_sure)
        return item.is_shared

    def _are_constraints_kept(self, part: Part, item: device_supply.Offered) -> bool:
        rules = part.claim.spec.devices.constraints or () if part.claim else ()
        mine = [(it.part.request, it.item) for it in self._chosen if it.part.claim is part.claim]
        chosen = [*mine, (part.request, item)]
        return all(
            requested_devices.is_kept(
                rule,
                [it.known for request, it in chosen if requested_devices.covers(rule, request)],
            )
            for rule in rules
        )


def _choices(
    claims: Sequence[observed_claims.Claim], beside: Mapping[tuple[str, ...], int]
) -> Iterator[list[Part]]:
    extra = [
        Part(None, "", observed_claims.ExactRequest(device_class_name=kind[0], count=count))
        for kind, count in beside.items()
    ]
    options = [
        [Part(claim, name, wanted) for name, wanted in request.options.items()]
        for claim in claims
        for request in claim.spec.devices.requests or ()
    ]
    for chosen in itertools.product(*options):
        yield [*chosen, *extra]
