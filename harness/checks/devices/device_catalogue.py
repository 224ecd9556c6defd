"""All devices, DeviceClasses and nodes as they were published, in each of their versions.

Taints do not belong here, nor when a device was withdrawn (see `device_timelines`): a scheduler may
decide on an older version than the newest, so every version up to an allocation counts. Of amounts,
that is the largest capacity, and the smallest consumption. Doubt never becomes a violation.

Not the scheduler's reading of v1.NodeSelector: its terms are ORed, and the requirements of a term
are ANDed; a term without requirements admits no node.
"""

import bisect
import collections
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from harness.checks import verdicts
from harness.checks.devices import capacities
from harness.checks.observed import folders, observations, observed_claims, observed_cluster
from harness.history import records
from harness.model import devices, node_requirements, quantities

NAME_FIELD = "metadata.name"
Labels = Mapping[str, str]
CounterKey: TypeAlias = tuple[str, str]
"""Name of a counter set, and of a counter in it."""


class UnknownSelectorError(ValueError):
    """A selector of another form, or with an operator or a field that this judge does not know."""


class _Requirement(msgspec.Struct):
    key: str
    operator: str
    values: list[str] | None = None


class _Term(msgspec.Struct, rename="camel"):
    match_fields: list[_Requirement] | None = None
    match_expressions: list[_Requirement] | None = None


class _Selector(msgspec.Struct, rename="camel"):
    node_selector_terms: list[_Term] | None = None


def _terms(selector: Any) -> Sequence[Mapping[str, Any]]:
    """Return the terms of a selector, as JSON. Raises UnknownSelectorError if it is none."""
    try:
        msgspec.convert(selector, _Selector)
    except msgspec.ValidationError as error:
        raise UnknownSelectorError("expected a node selector, got something else") from error
    return selector.get("nodeSelectorTerms") or ()


def admits(selector: Any, name: str, labels: Labels) -> bool:
    """Return whether a selector, as JSON, admits a node; None admits every node.

    Raises UnknownSelectorError for an unknown operator or field.
    """
    return selector is None or any(_admits(term, name, labels) for term in _terms(selector))


def only_names(selector: Any) -> frozenset[str] | None:
    """Return the only names that the admitted nodes can have; None: their labels decide."""
    names: set[str] = set()
    try:
        terms = _terms(selector or {}) or [{}]
    except UnknownSelectorError:
        return None
    for term in terms:
        listed = [
            item.get("values") or ()
            for item in term.get("matchFields") or ()
            if item.get("key") == NAME_FIELD and item.get("operator") == "In"
        ]
        if not listed:
            return None
        names.update(listed[0])
    return frozenset(names)


def _admits(term: Mapping[str, Any], name: str, labels: Labels) -> bool:
    fields = term.get("matchFields") or ()
    if any(item.get("key") != NAME_FIELD for item in fields):
        raise UnknownSelectorError(f"expected the field {NAME_FIELD}, got {fields}")
    requirements: list[tuple[Any, str | None]] = [(item, name) for item in fields]
    requirements += [(item, labels.get(item["key"])) for item in term.get("matchExpressions") or ()]
    return bool(requirements) and all(_meets(item, value) for item, value in requirements)


def _meets(requirement: Mapping[str, Any], value: str | None) -> bool:
    is_met = node_requirements.is_met(requirement, value)
    if is_met is None:
        operator = requirement.get("operator")
        raise UnknownSelectorError(f"expected an operator of node selectors, got {operator!r}")
    return is_met


Value = TypeVar("Value")


# ------------------------------------------------------------------------------- devices
class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a device can be reached."""

    node_name: str = ""
    node_selector: Any = None
    """A NodeSelector as JSON; None: another field says it."""
    all_nodes: bool = False

    def reaches(self, name: str, labels: Labels) -> bool:
        """Return whether the device can be reached from a node.

        Raises UnknownSelectorError for a selector that this judge does not know.
        """
        if self.node_name:
            return self.node_name == name
        if self.node_selector is not None:
            return admits(self.node_selector, name, labels)
        return self.all_nodes


@dataclasses.dataclass(frozen=True, eq=False)
class KnownDevice:
    """A device in one version, without its taints."""

    driver: str
    device: observed_cluster.Device
    place: Place
    slice: verdicts.InvolvedObject | None = None
    """The slice that lists it; None: not known."""
    matches: dict[str, bool | None] = dataclasses.field(default_factory=dict)
    """CEL expression -> whether it selects the device, as far as that was asked."""

    @property
    def is_shareable(self) -> bool:
        return bool(self.device.allow_multiple_allocations)

    @functools.cached_property
    def capacity(self) -> dict[str, Fraction]:
        """The amount of each capacity, by its name without the domain of the driver."""
        named = capacities.by_plain_name(self.device.capacity or {}, self.driver)
        return {name: quantities.amount(item.value) for name, item in named.items()}

    @functools.cached_property
    def counters(self) -> dict[CounterKey, Fraction]:
        """The amounts that it consumes of the counters of its pool."""
        return amounts_of((item.counter_set, item) for item in self.device.consumes_counters or ())


def amounts_of(
    groups: Iterable[tuple[str, observed_cluster.Counters]],
) -> dict[CounterKey, Fraction]:
    """Return the amounts of all counters in sets with these names."""
    found = collections.defaultdict[CounterKey, Fraction](Fraction)
    for name, group in groups:
        for counter, amount in group.counters.items():
            found[name, counter] += quantities.amount(amount.value)
    return dict(found)


def placed(spec: observed_cluster.SliceSpec) -> Iterator[tuple[observed_cluster.Device, Place]]:
    for device in spec.devices or ():
        where = device if spec.per_device_node_selection else spec
        yield (
            device,
            Place(
                node_name=where.node_name or "",
                node_selector=where.node_selector,
                all_nodes=bool(where.all_nodes),
            ),
        )


class Versions(Generic[Value]):
    """The different values that each key has had, with the first resourceVersion of each value."""

    def __init__(self, news: list[int]) -> None:
        """`news` gets the resourceVersion of each new value, in order; others share it."""
        self._news = news
        self._known: dict[str, dict[bytes, tuple[int, Value]]] = {}

    def add(self, key: str, value: Value, version: int, *, content: object) -> bool:
        """Note a value; return whether it is a new one."""
        values, encoded = self._known.setdefault(key, {}), msgspec.json.encode(content)
        if encoded in values:
            return False
        values[encoded] = version, value
        bisect.insort(self._news, version)
        return True

    def __call__(self, key: str, version: int) -> list[Value]:
        """Return the values that a key had in the versions before this one; empty: it was not."""
        return [value for since, value in self.of(key) if since < version]

    def of(self, key: str) -> list[tuple[int, Value]]:
        return list(self._known.get(key, {}).values())

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __contains__(self, key: object) -> bool:
        return key in self._known


class DeviceCatalogue(folders.Folder):
    """The devices, classes and nodes that were published so far."""

    def __init__(self) -> None:
        self.gaps: set[str] = set()
        """Resources whose versions may be missing."""
        self.news: list[int] = []
        """The resourceVersions with something new, in order."""
        self.devices: Versions[KnownDevice] = Versions(self.news)
        """By `driver/pool/device`."""
        self.classes: Versions[tuple[str, ...]] = Versions(self.news)
        """The CEL expressions of the classes."""
        self.configs: Versions[list[observed_claims.Config]] = Versions(self.news)
        """The configurations of the classes."""
        self.nodes: Versions[Mapping[str, str]] = Versions(self.news)
        """The labels of the nodes."""
        self.counters = collections.defaultdict[
            tuple[str, str], list[tuple[int, dict[CounterKey, Fraction]]]
        ](list)
        """Driver and name of a pool -> the counters that versions of its slices declare."""

    def see_slice(self, seen: observations.SeenSlice) -> None:
        """Note a slice. Raises QuantityError for a malformed quantity."""
        spec = seen.object.spec
        if seen.is_gone:
            return
        if spec.shared_counters:
            declared = amounts_of((item.name, item) for item in spec.shared_counters)
            self.counters[spec.driver, spec.pool.name].append((seen.version, declared))
        involved = seen.object.involved
        for device, place in placed(spec):
            name = str(devices.DeviceID(spec.driver, spec.pool.name, device.name))
            bare = msgspec.structs.replace(device, taints=None)
            known = KnownDevice(spec.driver, bare, place, involved)
            if self.devices.add(name, known, seen.version, content=(bare, place)):
                _ = known.capacity, known.counters

    def see_class(self, seen: observations.SeenClass) -> None:
        if not seen.is_gone:
            found = tuple(observed_claims.expressions(seen.object.spec.selectors))
            name, config = seen.object.metadata.name, seen.object.spec.config or []
            self.classes.add(name, found, seen.version, content=found)
            self.configs.add(name, config, seen.version, content=config)

    def see_node(self, seen: observations.SeenNode) -> None:
        if not seen.is_gone:
            meta = seen.object.metadata
            labels = meta.labels or {}
            self.nodes.add(meta.name, labels, seen.version, content=sorted(labels.items()))

    def see_gap(self, gap: records.Gap) -> None:
        self.gaps.add(gap.resource)

    def is_shareable(self, device: str) -> bool | None:
        """Return whether a slice ever allowed shares of a device; None: no slice has it."""
        known = self.devices.of(device)
        return any(item.is_shareable for _, item in known) if known else None

    def epoch(self, version: int) -> int:
        """Return how many news there were before a version: equal for equal knowledge."""
        return bisect.bisect_left(self.news, version)
