"""A device of a ResourceSlice, with what the allocator asks of it again and again."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from harness.model.objects import Object
from harness.subject.allocation import capacities
from harness.subject.cel import selectors as cel_selectors
from harness.subject.objects import nodes, quantities

EFFECTS = ("NoSchedule", "NoExecute")
"""The effects that keep a device from being allocated; `None` and unknown effects do not."""


def blocking(device: Object) -> tuple[Object, ...]:
    return tuple(taint for taint in device.get("taints") or () if taint.get("effect") in EFFECTS)


def are_tolerated(taints: Iterable[Object], tolerations: Iterable[Object]) -> bool:
    return all(any(nodes.tolerates(item, taint) for item in tolerations) for taint in taints)


PoolKey = tuple[str, str]
"""Driver and name of a pool."""
Counter = tuple[str, str]
"""A counter set and a counter in it."""


def pool_of(device: str) -> PoolKey:
    """Return the pool of `driver/pool/device`; the name of a pool may contain slashes."""
    driver, _, rest = device.partition("/")
    return driver, rest.rpartition("/")[0]


_LISTS = {"strings": "string", "ints": "int", "bools": "bool", "versions": "version"}
"""The types of list attributes, with the type of their values."""


class Device:
    """A device; it is compared by identity and never changes."""

    __slots__ = (
        "_consumption",
        "_fields",
        "_matches",
        "blocking_taints",
        "consumes",
        "document",
        "id",
        "is_shared",
        "name",
        "place",
        "pool",
    )

    def __init__(self, spec: Object, document: Object) -> None:
        """Read a device of a slice's spec. Raises QuantityError for a malformed quantity."""
        self.pool: PoolKey = (spec["driver"], spec["pool"]["name"])
        self.name: str = document["name"]
        self.id = f"{self.pool[0]}/{self.pool[1]}/{self.name}"
        """`driver/pool/device`."""
        self.document = document
        self.place: Object = document if spec.get("perDeviceNodeSelection") else spec
        """Where the device is: `nodeName`, `nodeSelector` or `allNodes`."""
        self.is_shared = bool(document.get("allowMultipleAllocations"))
        self.blocking_taints = blocking(document) if document.get("taints") else ()
        self.consumes = _consumed_counters(document) if document.get("consumesCounters") else ()
        self._fields: Mapping[str, Any] | None = None
        """`device` as selectors see it; None: it was not needed yet."""
        self._matches: dict[tuple[str, ...], bool] = {}
        self._consumption: dict[object, dict[str, quantities.Quantity] | None] = {}

    @property
    def waits(self) -> bool:
        return bool(self.document.get("bindingConditions"))

    def is_on(self, node: Object) -> bool:
        return nodes.is_placed_on(self.place, node)

    def satisfies(self, selectors: tuple[str, ...]) -> bool:
        """Return whether all CEL selectors accept the device. Raises SelectorError."""
        known = self._matches.get(selectors)
        if known is None:
            known = all(map(self._is_accepted, selectors))
            if len(self._matches) >= cel_selectors.CACHE_SIZE:
                self._matches.clear()
            self._matches[selectors] = known
        return known

    def _is_accepted(self, text: str) -> bool:
        selector = cel_selectors.compiled(text)
        if self._fields is None:
            self._fields = selector.fields(self.pool[0], self.document)
        return selector.evaluate(self._fields)

    def fails(self, selectors: tuple[str, ...]) -> bool:
        try:
            self.satisfies(selectors)
        except cel_selectors.SelectorError:
            return True
        return False

    def attribute(self, name: str) -> frozenset[tuple[str, Any]] | None:
        """Return values with their types, because `1 == True` in Python; None: it is missing."""
        value = self._attribute(name)
        if not value:
            return None
        kind, content = next(iter(value.items()))
        if kind in _LISTS:
            return frozenset((_LISTS[kind], item) for item in content)
        return frozenset(((kind, content),))

    def has_list(self, name: str) -> bool:
        return not _LISTS.keys().isdisjoint(self._attribute(name) or ())

    def _attribute(self, name: str) -> Object | None:
        known = self.document.get("attributes") or {}
        value: Object | None = known.get(name)
        if value is None and name.startswith(f"{self.pool[0]}/"):
            value = known.get(name[len(self.pool[0]) + 1 :])
        return value

    def consumption(
        self, wanted: Mapping[str, str], rules: capacities.Rules
    ) -> dict[str, quantities.Quantity] | None:
        """Return what a request for these quantities takes; None: it cannot be satisfied at all."""
        key = rules, tuple(wanted.items())
        if key not in self._consumption:
            capacity = self.document.get("capacity") or {}
            self._consumption[key] = rules.consumption(self.pool[0], capacity, wanted)
        return self._consumption[key]

    def capacity(self, name: str) -> Decimal:
        return capacities.amount(self.document["capacity"][name]["value"])


def _consumed_counters(document: Object) -> tuple[tuple[Counter, Decimal], ...]:
    return tuple(
        ((entry["counterSet"], name), capacities.amount(counter["value"]))
        for entry in document["consumesCounters"]
        for name, counter in entry["counters"].items()
    )
