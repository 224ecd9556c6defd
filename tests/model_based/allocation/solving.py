"""A solver that has no tricks: every assignment in order, the first one that is right.

It reads the API objects itself and shares nothing with the allocator. An assignment is judged as a
whole. Where the order counts (a device for admin access is in use for the requests after it), it is
walked through from the beginning.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
Row = tuple[int, str, str, bool, tuple[tuple[str, int], ...] | None]
"""Claim, request, device as `driver/pool/device`, admin access, what a share consumes."""


class Refused(Exception):  # noqa: N818 - an answer
    """The claims are refused as a whole: a request for all devices makes no sense here."""


class Solver:
    """Solves one problem on one node."""

    def __init__(
        self, slices: Sequence[Object], node: Object, allocated: Mapping[str, Sequence[Object]]
    ) -> None:
        """`allocated`: by device the capacities its shares consume; no share: one claim has it."""
        self._node, self._allocated = node, allocated
        self._whole = True
        """No pool that the node sees is incomplete or invalid."""
        self.devices: dict[str, Object] = {}
        self._places: dict[str, Object] = {}
        self._counters: dict[tuple[str, str, str], int] = {}
        self._everywhere: dict[str, Object] = {}
        for _, pieces in sorted(_by_pool(slices).items()):
            self._read(sorted(pieces, key=lambda piece: piece["metadata"]["name"]))

    def solve(self, claims: Sequence[Object]) -> list[Row] | None:
        """Return the first right assignment; None if there is none. Raises Refused."""
        requests = [
            (index, request)
            for index, claim in enumerate(claims)
            for request in claim["spec"]["devices"]["requests"]
        ]
        ways = [list(self._ways(index, request)) for index, request in requests]
        for combination in itertools.product(*ways):
            rows = [row for way in combination for row in way]
            if self._is_right(rows, claims):
                return rows
        return None

    def place_of(self, device: str) -> Object:
        """Return where a device is."""
        return self._places[device]

    # ------------------------------------------------------------------- what there is

    def _read(self, pieces: Sequence[Object]) -> None:
        specs = [piece["spec"] for piece in pieces]
        newest = max(spec["pool"]["generation"] for spec in specs)
        specs = [spec for spec in specs if spec["pool"]["generation"] == newest]
        seen = [spec for spec in specs if self._sees(spec)]
        if not seen:
            return
        names = [item["name"] for spec in seen for item in spec.get("devices", ())]
        if len(specs) != specs[0]["pool"]["resourceSliceCount"] or len(names) != len(set(names)):
            self._whole = False
            return
        for spec in specs:
            prefix = f"{spec['driver']}/{spec['pool']['name']}"
            for declared in spec.get("sharedCounters", ()):
                for name, counter in declared["counters"].items():
                    self._counters[prefix, declared["name"], name] = int(counter["value"])
            for item in spec.get("devices", ()):
                place = item if spec.get("perDeviceNodeSelection") else spec
                key = f"{prefix}/{item['name']}"
                self._everywhere.setdefault(key, item)
                if self._is_here(place):
                    self.devices[key], self._places[key] = item, place

    def _sees(self, spec: Object) -> bool:
        if "sharedCounters" in spec:
            return True
        places = spec["devices"] if spec.get("perDeviceNodeSelection") else [spec]
        return any(self._is_here(place) for place in places)

    def _is_here(self, place: Object) -> bool:
        if "nodeName" in place:
            return bool(place["nodeName"] == self._node["metadata"]["name"])
        if "nodeSelector" in place:
            (term,) = place["nodeSelector"]["nodeSelectorTerms"]
            labels = self._node["metadata"]["labels"]
            return all(labels.get(e["key"]) in e["values"] for e in term["matchExpressions"])
        return bool(place.get("allNodes"))

    # ------------------------------------------------------------------- one request

    def _ways(self, claim: int, request: Object) -> Iterator[list[Row]]:
        """Yield every way to satisfy a request alone, in order of preference."""
        name = request["name"]
        named = [(f"{name}/{sub['name']}", sub) for sub in request.get("firstAvailable", ())]
        for label, option in named or [(name, request["exactly"])]:
            is_all = option.get("allocationMode") == "All"
            if is_all and not self._whole:
                raise Refused
            fitting = [key for key, item in self.devices.items() if _selects(option, item)]
            rows = {key: self._row(claim, label, option, key) for key in fitting}
            fitting = [key for key in fitting if rows[key] is not None]
            if is_all:
                fitting = [key for key in fitting if self._fits(key, [rows[key]])]
                if len(fitting) > 0:
                    yield [row for key in fitting if (row := rows[key])]
                continue
            for chosen in itertools.combinations(fitting, option.get("count", 1)):
                yield [row for key in chosen if (row := rows[key])]

    def _row(self, claim: int, label: str, option: Object, key: str) -> Row | None:
        """Return the row; None: the device lacks a capacity, or its policy forbids the amount."""
        item, wanted = self.devices[key], option.get("capacity", {}).get("requests", {})
        capacity = item.get("capacity", {})
        if not wanted.keys() <= capacity.keys():
            return None
        taken = {name: _rounded(wanted.get(name), entry) for name, entry in capacity.items()}
        if (item.get("allowMultipleAllocations") or wanted) and None in taken.values():
            return None
        admin = bool(option.get("adminAccess"))
        if not item.get("allowMultipleAllocations"):
            if any(int(value) > int(capacity[name]["value"]) for name, value in wanted.items()):
                return None
            return claim, label, key, admin, None
        consumed = tuple(sorted((name, value or 0) for name, value in taken.items()))
        return claim, label, key, admin, consumed

    # ------------------------------------------------------------------- the whole

    def _is_right(self, rows: Sequence[Row], claims: Sequence[Object]) -> bool:
        return (
            self._is_free(rows)
            and all(self._fits(key, rows) for key in {row[2] for row in rows})
            and self._has_counters(rows)
            and all(self._tolerates(row, claims[row[0]]) for row in rows)
            and all(
                self._satisfies(constraint, [row for row in rows if row[0] == index])
                for index, claim in enumerate(claims)
                for constraint in claim["spec"]["devices"].get("constraints", ())
            )
        )

    def _is_free(self, rows: Sequence[Row]) -> bool:
        """Return whether no device is given that is in use at that moment."""
        for position, (claim, _, key, admin, consumed) in enumerate(rows):
            if consumed is not None:
                if not admin and key in self._allocated and not self._allocated[key]:
                    return False
                continue
            earlier = [row[0] for row in rows[:position] if row[2] == key]
            if claim in earlier if admin else earlier or key in self._allocated:
                return False
        return True

    def _fits(self, key: str, rows: Sequence[Row | None]) -> bool:
        """Return whether the shares of a device do not exceed its capacity."""
        capacity = self.devices[key].get("capacity", {})
        used = dict.fromkeys(capacity, 0)
        for share in self._allocated.get(key, ()):
            for name, text in share.items():
                used[name] += int(text)
        for row in rows:
            for name, value in (row[4] or ()) if row and row[2] == key else ():
                used[name] += value
        if not self.devices[key].get("allowMultipleAllocations"):
            return True
        return all(value <= int(capacity[name]["value"]) for name, value in used.items())

    def _has_counters(self, rows: Sequence[Row]) -> bool:
        used: dict[tuple[str, str, str], int] = dict.fromkeys(self._counters, 0)
        chosen = [row[2] for row in rows if row[4] is None]
        shared = {row[2] for row in rows if row[4] is not None} - set(self._allocated)
        before = [key for key in self._everywhere if key in self._allocated]
        for key in [*chosen, *sorted(shared), *before]:
            for entry in self._everywhere[key].get("consumesCounters", ()):
                for name, counter in entry["counters"].items():
                    used[key.rpartition("/")[0], entry["counterSet"], name] += int(counter["value"])
        touched = {key.rpartition("/")[0] for key in chosen + sorted(shared)}
        return all(
            value <= self._counters[counter]
            for counter, value in used.items()
            if counter[0] in touched and self._is_consumed(counter, chosen + sorted(shared))
        )

    def _is_consumed(self, counter: tuple[str, str, str], keys: Sequence[str]) -> bool:
        return any(
            key.rpartition("/")[0] == counter[0] and entry["counterSet"] == counter[1]
            for key in keys
            for entry in self._everywhere[key].get("consumesCounters", ())
        )

    def _tolerates(self, row: Row, claim: Object) -> bool:
        option = _option(claim, row[1])
        return all(
            any(item["key"] == taint["key"] for item in option.get("tolerations", ()))
            for taint in self.devices[row[2]].get("taints", ())
            if taint["effect"] != "None"
        )

    def _satisfies(self, constraint: Object, rows: Sequence[Row]) -> bool:
        attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
        names = constraint.get("requests")
        sets = [
            _values(self.devices[row[2]], attribute)
            for row in rows
            if not names or row[1] in names or row[1].partition("/")[0] in names
        ]
        if None in sets:
            return False
        known = [values for values in sets if values is not None]
        if "matchAttribute" in constraint:
            return not known or bool(set.intersection(*known)) or len(known) == 1
        return all(a.isdisjoint(b) for a, b in itertools.combinations(known, 2))


def _by_pool(slices: Sequence[Object]) -> dict[tuple[str, str], list[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for piece in slices:
        key = piece["spec"]["driver"], piece["spec"]["pool"]["name"]
        found.setdefault(key, []).append(piece)
    return found


def _selects(option: Object, item: Object) -> bool:
    """Return whether the selectors, all of the form `….kind == "x"`, accept the device."""
    kind = item["attributes"]["kind"]["string"]
    return all(s["cel"]["expression"].endswith(f'"{kind}"') for s in option.get("selectors", ()))


def _option(claim: Object, label: str) -> Object:
    for request in claim["spec"]["devices"]["requests"]:
        if request["name"] == label:
            return dict(request["exactly"])
        for sub in request.get("firstAvailable", ()):
            if f"{request['name']}/{sub['name']}" == label:
                return dict(sub)
    raise KeyError(label)


def _rounded(wanted: str | None, entry: Object) -> int | None:
    """Return what a request takes of a capacity; None: its policy forbids it."""
    policy = entry.get("requestPolicy", {})
    if wanted is None:
        return int(policy.get("default", entry["value"]))
    if "validValues" in policy:
        return next((int(v) for v in policy["validValues"] if int(v) >= int(wanted)), None)
    if "validRange" in policy:
        least, step = int(policy["validRange"]["min"]), int(policy["validRange"]["step"])
        rounded = next(v for v in itertools.count(least, step) if v >= int(wanted))
        return rounded if rounded <= int(policy["validRange"]["max"]) else None
    return int(wanted)


def _values(item: Object, name: str) -> set[Any] | None:
    value = item["attributes"].get(name)
    if value is None:
        return None
    (content,) = value.values()
    return set(content) if isinstance(content, list) else {content}
