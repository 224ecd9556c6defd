"""Judges each new allocation: it gives what the claim asks for, of devices that there are.

A scheduler may not have heard of a change of the slices yet. A device is therefore judged by all
versions of it since all was at rest last: one of them has to do. A rest ends every delay, so that
what was gone or tainted by then must not be allocated any more.
"""

import collections
from collections.abc import Iterator

from harness.explore.worlds.oracles import offered_devices, states
from harness.model.objects import Object

Offer = offered_devices.Offer


class GrantedDevices:
    """Watches claims and slices."""

    def __init__(self) -> None:
        self._offers: list[Offer] = []
        self._known: dict[offered_devices.ID, list[Offer]] = {}
        """The versions of each device since the last rest."""
        self._new_rules: set[str] = set()
        self.tainted_drivers: set[str] = set()
        """Drivers whose devices were all tainted by a rule at the last rest."""
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def taint_driver(self, driver: str) -> None:
        self._new_rules.add(driver)

    def rested(self) -> None:
        """Note that all is at rest: everyone knows the present slices and rules."""
        self.tainted_drivers |= self._new_rules
        self._known = {}
        self._note_offers()

    def on_seen(self, seen: states.Seen) -> None:
        if seen.plural == "resourceslices":
            specs = (item["spec"] for item in seen.known.slices.values())
            self._offers = list(offered_devices.offers(specs))
            self._note_offers()
        elif seen.is_claim and not seen.is_gone and self.finding is None:
            had, has = (
                "allocation" in (it or {}).get("status", {}) for it in (seen.before, seen.object)
            )
            if has and not had:
                self.finding = next(self._faults(seen.object), None)

    def _note_offers(self) -> None:
        for offer in self._offers:
            versions = self._known.setdefault(offer.id, [])
            if offer not in versions:
                versions.append(offer)

    def _faults(self, claim: Object) -> Iterator[str]:
        name = claim["metadata"]["name"]
        results = claim["status"]["allocation"]["devices"].get("results") or []
        by_request = collections.defaultdict(list)
        for result in results:
            by_request[result["request"]].append(result)
            if offered_devices.id_of(result) not in self._known:
                yield f"gone: {name} got {result['device']}, which is in no slice"
        ids = [offered_devices.id_of(item) for item in results if "shareID" not in item]
        if len({*ids}) < len(ids):
            yield f"twice: {name} got one device several times"
        for request in claim["spec"]["devices"]["requests"]:
            yield from self._of_request(name, request, by_request)
        yield from self._of_constraints(claim, results)
        yield from self._of_nodes(claim, results)

    def _of_request(
        self, name: str, request: Object, by_request: dict[str, list[Object]]
    ) -> Iterator[str]:
        granted = [wish for wish in offered_devices.wishes(request) if by_request.get(wish.name)]
        if len(granted) != 1:
            yield f"asked: {name} got {len(granted)} alternatives of {request['name']}"
            return
        [wish] = granted
        results = by_request[wish.name]
        if wish.count not in (None, len(results)):
            yield f"asked: {name} got {len(results)} devices for {wish.name}, not {wish.count}"
        for result in results:
            versions = self._known[offered_devices.id_of(result)]
            if bool(result.get("adminAccess")) != wish.is_admin:
                yield f"admin: {name} got {result['device']} with the wrong access"
            if not any(offer.is_shared == ("shareID" in result) for offer in versions):
                yield f"share: {name} got {result['device']} in the wrong way"
            if not any(map(wish.selects, versions)):
                yield f"selected: {name} got {result['device']}, which its selectors rule out"
            if not any(wish.tolerates(item, self.tainted_drivers) for item in versions):
                yield f"taint: {name} got {result['device']}, which has a taint"

    def _of_constraints(self, claim: Object, results: list[Object]) -> Iterator[str]:
        newest = [self._known[offered_devices.id_of(result)][-1] for result in results]
        for constraint in claim["spec"]["devices"].get("constraints") or ():
            if not offered_devices.holds(constraint, newest):
                yield f"constraint: the devices of {claim['metadata']['name']} violate {constraint}"

    def _of_nodes(self, claim: Object, results: list[Object]) -> Iterator[str]:
        """Yield whether the devices are not on the nodes that the allocation names."""
        named = nodes_of(claim["status"]["allocation"])
        for result in results:
            versions = self._known[offered_devices.id_of(result)]
            places = {offer.node for offer in versions}
            if None not in places and (not named or not {*named} <= places):
                name = claim["metadata"]["name"]
                yield f"place: {result['device']} of {name} is on {places}, not {named}"


def nodes_of(allocation: Object) -> list[str]:
    """Return the nodes that the selector of an allocation names; empty: it names none."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
    fields = (field for term in terms for field in term.get("matchFields") or ())
    return [node for field in fields for node in field["values"]]


class ReadyDevices:
    """Watches claims and pods; each pod uses claims by their names."""

    def __init__(self) -> None:
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_seen(self, seen: states.Seen) -> None:
        spec = seen.object["spec"]
        if seen.plural != "pods" or "nodeName" not in spec or self.finding is not None:
            return
        for entry in spec.get("resourceClaims") or ():
            claim = seen.known.claims.get(entry.get("resourceClaimName"), {})
            for device in _not_ready(claim):
                self.finding = f"bound: {seen.name} is bound, but {device} is not ready"


def _not_ready(claim: Object) -> Iterator[str]:
    """Yield the devices of an allocated claim whose conditions are not all true."""
    status = claim.get("status", {})
    results = (status.get("allocation") or {}).get("devices", {}).get("results") or ()
    reported = {item["device"]: item.get("conditions") or () for item in status.get("devices", ())}
    for result in results:
        true = {
            item["type"] for item in reported.get(result["device"], ()) if item["status"] == "True"
        }
        if set(result.get("bindingConditions") or ()) - true:
            yield str(result["device"])
