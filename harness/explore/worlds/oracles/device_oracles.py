"""Judges devices: that each new allocation gives what its claim asks for, and all fit together.

A scheduler may not have heard of a change of the slices yet. A device is therefore judged by all
versions of it since all was at rest last: one of them has to do. A rest ends every delay, so that
what was gone or tainted by then must not be allocated any more.

Devices and requests are read and compared as the checks do that. An amount below zero counts as
zero, so that it makes no room for others. A device that has left its slices consumes what it did
when they last had it.
"""

import collections
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from harness.checks.devices import device_catalogue, requested_devices
from harness.checks.observed import observed_claims, observed_cluster
from harness.explore.worlds.oracles import states
from harness.model import quantities
from harness.model.objects import Object

_Result = observed_claims.AllocationResult


@dataclasses.dataclass(frozen=True)
class _Version:
    """One version of a device."""

    driver: str
    node: str | None
    """The node that alone can use the device; None: it does not name one."""
    device: observed_cluster.Device

    @functools.cached_property
    def known(self) -> device_catalogue.KnownDevice:
        return device_catalogue.KnownDevice(self.driver, self.device, device_catalogue.Place())

    def is_tolerated(self, wanted: observed_claims.ExactRequest) -> bool:
        return all(
            any(observed_cluster.tolerates(item, taint) for item in wanted.tolerations or ())
            for taint in self.device.taints or ()
            if taint.is_blocking
        )


class GrantedDevices(states.Oracle):
    """Watches claims and slices."""

    def __init__(self) -> None:
        self._offered: dict[str, _Version] = {}
        self._known: dict[str, list[_Version]] = {}
        """The versions of each device since the last rest."""
        self._new_rules: set[str] = set()
        self.tainted_drivers: set[str] = set()
        """Drivers whose devices were all tainted by a rule at the last rest."""

    def taint_driver(self, driver: str) -> None:
        self._new_rules.add(driver)

    def rested(self) -> None:
        """Note that all is at rest: everyone knows the present slices and rules."""
        self.tainted_drivers |= self._new_rules
        self._known = {}
        self._note_offers()

    def on_seen(self, seen: states.Seen) -> None:
        if seen.plural == "resourceslices":
            self._offered = dict(_offers(seen.known.slices))
            self._note_offers()
        elif seen.is_claim and not seen.is_gone and self.finding is None:
            had, has = (
                "allocation" in (it or {}).get("status", {}) for it in (seen.before, seen.object)
            )
            if has and not had:
                claim = states.observed(seen.object, observed_claims.Claim)
                self.find(next(self._faults(claim), None))

    def _note_offers(self) -> None:
        for device, version in self._offered.items():
            versions = self._known.setdefault(device, [])
            if version not in versions:
                versions.append(version)

    def _faults(self, claim: observed_claims.Claim) -> Iterator[str]:
        name, by_request = claim.metadata.name, collections.defaultdict(list)
        for result in claim.results:
            by_request[result.request].append(result)
            if result.id not in self._known:
                yield f"gone: {name} got {result.device}, which is in no slice"
        ids = [item.id for item in claim.results if not item.share]
        if len({*ids}) < len(ids):
            yield f"twice: {name} got one device several times"
        for request in claim.spec.devices.requests or ():
            yield from self._of_request(name, request, by_request)
        newest = [self._known[result.id][-1].known for result in claim.results]
        for constraint in claim.spec.devices.constraints or ():
            if not requested_devices.is_kept(constraint, newest):
                yield f"constraint: the devices of {name} violate {constraint}"
        yield from self._of_nodes(claim)

    def _of_request(
        self,
        name: str,
        request: observed_claims.Request,
        by_request: Mapping[str, list[_Result]],
    ) -> Iterator[str]:
        granted = [it for it in request.options.items() if by_request.get(it[0])]
        if len(granted) != 1:
            yield f"asked: {name} got {len(granted)} alternatives of {request.name}"
            return
        [(option, wanted)] = granted
        results = by_request[option]
        if wanted.number not in (None, len(results)):
            yield f"asked: {name} got {len(results)} devices for {option}, not {wanted.number}"
        for result in results:
            yield from self._of_result(name, wanted, result)

    def _of_result(
        self, name: str, wanted: observed_claims.ExactRequest, result: _Result
    ) -> Iterator[str]:
        versions = self._known[result.id]
        if bool(result.admin_access) != wanted.admin_access:
            yield f"admin: {name} got {result.device} with the wrong access"
        if not any(it.known.is_shareable == bool(result.share) for it in versions):
            yield f"share: {name} got {result.device} in the wrong way"
        if not any(
            all(requested_devices.matches(it.known, text) for text in wanted.expressions)
            for it in versions
        ):
            yield f"selected: {name} got {result.device}, which its selectors rule out"
        if result.driver in self.tainted_drivers or not any(
            it.is_tolerated(wanted) for it in versions
        ):
            yield f"taint: {name} got {result.device}, which has a taint"

    def _of_nodes(self, claim: observed_claims.Claim) -> Iterator[str]:
        """Yield whether the devices are not on the nodes that the allocation names."""
        allocation = claim.status.allocation
        selector = allocation.node_selector if allocation else None
        named = device_catalogue.only_names(selector) if selector else None
        for result in claim.results:
            places = {version.node or "" for version in self._known[result.id]}
            if "" not in places and (not named or not {*named} <= places):
                where, told = _listed(places), _listed(named or ())
                yield f"place: {result.device} of {claim.metadata.name} is on {where}, not {told}"


def _listed(nodes: Iterable[str]) -> str:
    return ", ".join(sorted(nodes)) or "every node"


def _offers(slices: Mapping[str, Object]) -> Iterator[tuple[str, _Version]]:
    for document in slices.values():
        spec = states.observed(document["spec"], observed_cluster.SliceSpec)
        for device in spec.devices or ():
            version = _Version(spec.driver, spec.node_name or device.node_name, device)
            yield f"{spec.driver}/{spec.pool.name}/{device.name}", version


class ReadyDevices(states.Oracle):
    """Watches claims and pods; each pod uses claims by their names."""

    def on_seen(self, seen: states.Seen) -> None:
        spec = seen.object["spec"]
        for entry in spec.get("resourceClaims") or () if "nodeName" in spec else ():
            claim = seen.known.claims.get(entry.get("resourceClaimName"), {})
            for device in _not_ready(claim):
                self.find(f"bound: {seen.name} is bound, but {device} is not ready")


def _not_ready(claim: Object) -> Iterator[str]:
    """Yield the devices of an allocated claim whose conditions are not all true."""
    listed = claim.get("status", {}).get("devices", ())
    reported = {item["device"]: item.get("conditions") or () for item in listed}
    for result in states.results(claim):
        true = {
            item["type"] for item in reported.get(result["device"], ()) if item["status"] == "True"
        }
        if set(result.get("bindingConditions") or ()) - true:
            yield str(result["device"])


_ID = tuple[str, str, str]
"""Driver, pool and name."""


class DeviceShares(states.Oracle):
    """Watches claims and slices: what all allocations take together is there to be taken."""

    def __init__(self) -> None:
        self._known: dict[_ID, Object] = {}
        """Every device in its last version."""

    def on_seen(self, seen: states.Seen) -> None:
        specs = [item["spec"] for item in seen.known.slices.values()]
        if seen.plural == "resourceslices":
            self._known.update(_devices(specs))
        elif seen.is_claim:
            self.find(next(self._faults(specs, seen.known.claims.values()), None))

    def _faults(self, specs: list[Object], claims: Iterable[Object]) -> Iterator[str]:
        taken: dict[_ID, list[Object]] = collections.defaultdict(list)
        for claim in claims:
            for result in states.results(claim):
                if not result.get("adminAccess"):
                    taken[result["driver"], result["pool"], result["device"]].append(result)
        yield from _wrong_shares(taken)
        for place, device in _devices(specs):
            if device.get("allowMultipleAllocations"):
                yield from _exceeded(device, taken.get(place, []))
        yield from self._overdrawn(specs, taken)

    def _overdrawn(self, specs: list[Object], taken: Iterable[_ID]) -> Iterator[str]:
        used: dict[tuple[str, ...], Fraction] = collections.defaultdict(Fraction)
        for place in taken:
            for item in self._known.get(place, {}).get("consumesCounters") or ():
                for counter, consumed in item["counters"].items():
                    used[*place[:2], item["counterSet"], counter] += _amount(consumed["value"])
        for spec in specs:
            for item in spec.get("sharedCounters") or ():
                for counter, declared in item["counters"].items():
                    sum_used = used[spec["driver"], spec["pool"]["name"], item["name"], counter]
                    if sum_used > (total := _amount(declared["value"])):
                        yield f"counter {counter} of {item['name']}: {sum_used} of {total} are used"


def _devices(specs: Iterable[Object]) -> Iterator[tuple[_ID, Object]]:
    for spec in specs:
        for device in spec.get("devices") or ():
            yield (spec["driver"], spec["pool"]["name"], device["name"]), device


def _wrong_shares(taken: dict[_ID, list[Object]]) -> Iterator[str]:
    for (_, _, name), results in taken.items():
        shares = collections.Counter(item["shareID"] for item in results if "shareID" in item)
        for share, count in shares.items():
            if count > 1:
                yield f"share {share} of {name} is allocated {count} times"
        if shares and shares.total() < len(results):
            yield f"share: {name} is allocated whole, and shares of it"


def _exceeded(device: Object, taken: list[Object]) -> Iterator[str]:
    for name, declared in (device.get("capacity") or {}).items():
        used = sum(_amount((it.get("consumedCapacity") or {}).get(name, "0")) for it in taken)
        if used > quantities.amount(declared["value"]):
            yield f"capacity {name} of {device['name']}: {used} of {declared['value']} are used"


def _amount(text: str) -> Fraction:
    return max(quantities.amount(text), Fraction(0))
