"""All devices, DeviceClasses and nodes as they were published, in each of their versions.

Taints do not belong here, nor when a device was withdrawn (see `device_timelines`): a scheduler may
decide on an older version than the newest, so every version up to an allocation counts.

Not the scheduler's reading of v1.NodeSelector: its terms are ORed, and the requirements of a term
are ANDed; a term without requirements admits no node.
"""

import bisect
import dataclasses
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from harness.checks.observed import folders, observations, observed_claims, observed_slices
from harness.history import records
from harness.model import devices, node_requirements

NAME_FIELD = "metadata.name"
Labels = Mapping[str, str]


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


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KnownDevice:
    """A device in one version, without its taints."""

    driver: str
    device: observed_slices.Device
    place: Place
    matches: dict[str, bool | None] = dataclasses.field(default_factory=dict)
    """CEL expression -> whether it selects the device, as far as that was asked."""


def placed(spec: observed_slices.SliceSpec) -> Iterator[tuple[observed_slices.Device, Place]]:
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

    def add(self, key: str, value: Value, version: int, *, content: object) -> None:
        values, encoded = self._known.setdefault(key, {}), msgspec.json.encode(content)
        if encoded not in values:
            values[encoded] = version, value
            bisect.insort(self._news, version)

    def __call__(self, key: str, version: int) -> list[Value]:
        """Return the values that a key had in the versions before this one; empty: it was not."""
        return [value for since, value in self._known.get(key, {}).values() if since < version]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)


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

    def see_slice(self, seen: observations.SeenSlice) -> None:
        spec = seen.object.spec
        if seen.is_gone:
            return
        for device, place in placed(spec):
            name = str(devices.DeviceID(spec.driver, spec.pool.name, device.name))
            bare = msgspec.structs.replace(device, taints=None)
            known = KnownDevice(spec.driver, bare, place)
            self.devices.add(name, known, seen.version, content=(bare, place))

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

    def epoch(self, version: int) -> int:
        """Return how many news there were before a version: equal for equal knowledge."""
        return bisect.bisect_left(self.news, version)

    def newest(self, count: int) -> Iterator[KnownDevice]:
        for name in itertools.islice(self.devices, count):
            yield self.devices(name, sys.maxsize)[-1]
