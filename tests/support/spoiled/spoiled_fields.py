"""Defects that each spoil one field that the API calls a copy or computed."""

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from harness.subject.allocation import allocators
from harness.subject.claim_control import generating, pod_syncing
from harness.subject.extended_resources import extended_claims
from harness.subject.plugin import claim_binding, scheduling_attempts

Object = dict[str, Any]
Spoil = Callable[[Any], object]
"""Changes an object, or returns another one."""


def made(base: type, text: str, spoil: Callable[..., object]) -> Any:
    """A defect: a subclass with its description, and with what it does."""
    return type("Defect", (base,), {"__doc__": text, "_spoil": staticmethod(spoil)})


# ------------------------------------------------------------------------- what is allocated


class _Spoiled(allocators.Allocator):
    shows_otherwise = True
    _spoil: Callable[[Object, Object], object]

    def allocate(self, node: Object) -> list[Object] | None:
        """Spoil what is found; devices and claims share parts of it, so these are copied."""
        found = copy.deepcopy(super().allocate(node))
        for allocation in found or ():
            self._spoil(allocation, node)
        return found


def of_rows(text: str, spoil: Spoil) -> Any:
    return made(_Spoiled, text, lambda found, _: [*map(spoil, found["devices"]["results"])])


def of_config(text: str, spoil: Callable[[list[Object]], list[Object]]) -> Any:
    def change(found: Object, _: Object) -> None:
        devices = found["devices"]
        devices["config"] = spoil(devices.get("config") or [])

    return made(_Spoiled, text, change)


def of_amounts(text: str, spoil: Callable[[Object], Object]) -> Any:
    def change(row: Object) -> None:
        if row.get("consumedCapacity"):
            row["consumedCapacity"] = spoil(row["consumedCapacity"])

    return of_rows(text, change)


def lost(*fields: str) -> Spoil:
    return lambda row: [row.pop(field, None) for field in fields]


def _fail_elsewhere(row: Object) -> None:
    if row.get("bindingFailureConditions"):
        row["bindingFailureConditions"] = ["flake-hunt.example/other"]


def _narrow(allocation: Object, node: Object) -> None:
    field = {"key": "metadata.name", "operator": "In", "values": [node["metadata"]["name"]]}
    allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}


TolerationsLost = of_rows(
    "The tolerations of the request are not copied (kubernetes#134434).", lost("tolerations")
)
TolerationsInvented = of_rows(
    "Every result tolerates everything.",
    lambda row: row.update(tolerations=[{"operator": "Exists"}]),
)
ConditionsLost = of_rows(
    "The conditions of the slice are not copied, so that nothing waits for the device.",
    lost("bindingConditions", "bindingFailureConditions"),
)
FailureConditionsChanged = of_rows(
    "Failures of the device are looked for under another name.", _fail_elsewhere
)
ShareIDLost = of_rows(
    "A share looks as if the claim had the whole device.", lost("shareID", "consumedCapacity")
)
ShareIDInvented = of_rows(
    "A whole device looks like a share of it.",
    lambda row: row.setdefault("shareID", "8d2c4b0e-0f2a-5d61-9a51-3f0a8f6a4c11"),
)
AdminAccessLost = of_rows(
    "A claim that only watches a device seems to have it.", lost("adminAccess")
)
RequestOfAlternativeShortened = of_rows(
    "A result names the request, but not its alternative that was chosen.",
    lambda row: row.update(request=row["request"].partition("/")[0]),
)
ConfigOfClassLost = of_config(
    "The configuration of the class is not copied.",
    lambda config: [item for item in config if item["source"] != "FromClass"],
)
ConfigOfClaimLost = of_config(
    "The configuration of the claim is not copied.",
    lambda config: [item for item in config if item["source"] != "FromClaim"],
)
ConfigSourceChanged = of_config(
    "The configuration of the claim counts as that of the class.",
    lambda config: [item | {"source": "FromClass"} for item in config],
)
ConfigReversed = of_config(
    "The configuration of the class overrides that of the claim.", lambda config: config[::-1]
)
ConfigForAll = of_config(
    "The configuration for one request is used for all of them (kubernetes#139732).",
    lambda config: [{key: item[key] for key in item if key != "requests"} for item in config],
)
SelectorNarrowed = made(
    _Spoiled,
    "The claim is bound to the node of its first pod, wherever else its devices are.",
    _narrow,
)
SelectorLost = made(
    _Spoiled, "All nodes seem to reach the devices.", lambda found, _: found.pop("nodeSelector", 0)
)
AmountsOmitted = of_amounts("The amounts that a share consumes are not written.", lambda _: {})
AmountsTooLow = of_amounts(
    "The amounts are not rounded up by the request policy.",
    lambda amounts: dict.fromkeys(amounts, "1"),
)
AmountsTooHigh = of_amounts(
    "A share takes more than was asked for.", lambda amounts: dict.fromkeys(amounts, "20E")
)
AmountsBelowZero = of_amounts(
    "A share gives back what others consume.", lambda amounts: dict.fromkeys(amounts, "-1")
)
AmountsOfOtherNames = of_amounts(
    "The amounts are written for capacities that the device lacks.",
    lambda amounts: {f"other.example/{name}": text for name, text in amounts.items()},
)

# ------------------------------------------------------------------------- what is bound


class _Reserved(claim_binding.ClaimBinder):
    shows_otherwise = True
    _spoil: Spoil

    def _put_allocation(self, claim: Object) -> Object:
        changed = copy.deepcopy(claim)
        self._spoil(changed["status"]["reservedFor"][-1])
        return super()._put_allocation(changed)


ReservationOfAnotherUID = made(
    _Reserved,
    "The claim is reserved for a pod that had this name before.",
    lambda user: user.update(uid="00000000-0000-0000-0000-000000000000"),
)
ReservationOfAnotherKind = made(
    _Reserved,
    "The claim is reserved for the pod as if that were an object of another kind.",
    lambda user: user.update(resource="jobs", apiGroup="batch"),
)


class _Mapped(claim_binding.ClaimBinder):
    shows_otherwise = True
    _spoil: Callable[[list[Object]], list[Object]]

    def _record_extended(self, attempt: scheduling_attempts.Attempt) -> None:
        mappings = self._spoil(attempt.mappings)
        extended_claims.record(self._api, attempt.pod, attempt.claims[-1], mappings)


MappingsLost = made(
    _Mapped,
    "Only one container is mapped to a request of the claim for extended resources.",
    lambda mappings: mappings[:1],
)
MappingsToNone = made(
    _Mapped,
    "The containers are mapped to requests that the claim lacks.",
    lambda mappings: [it | {"requestName": f"{it['requestName']}-old"} for it in mappings],
)
MappingsToOne = made(
    _Mapped,
    "All containers are mapped to the request of one of them.",
    lambda mappings: [it | {"requestName": mappings[0]["requestName"]} for it in mappings],
)

# ------------------------------------------------------------------------- what is generated


class _Generated(generating.ClaimGenerator):
    shows_otherwise = True
    _spoil: Spoil

    def generated_claim(self, pod: Object, entry_name: str, template: Object) -> Object:
        claim = copy.deepcopy(super().generated_claim(pod, entry_name, template))
        self._spoil(claim)
        return claim


def _count_otherwise(claim: Object) -> None:
    for request in claim["spec"]["devices"]["requests"]:
        request["exactly"]["count"] = 1 if request["exactly"].get("count", 1) > 1 else 2


TemplateSpecChanged = made(
    _Generated,
    "The claim asks for another number of devices than its template.",
    _count_otherwise,
)
TemplateConfigLost = made(
    _Generated,
    "The claim has no parameters for its driver.",
    lambda claim: claim["spec"]["devices"].pop("config", None),
)
TemplateLabelsLost = made(
    _Generated,
    "The claim does not get the labels of its template.",
    lambda claim: claim["metadata"].update(labels={}),
)
TemplateLabelsInvented = made(
    _Generated,
    "The claim gets a label that its template lacks.",
    lambda claim: claim["metadata"]["labels"].update({"made-by": "controller"}),
)


class TemplateAnnotationsLost(generating.ClaimGenerator):
    """The claim has only the annotation of the controller."""

    shows_otherwise = True

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        return super()._annotations(entry_name, {})


class EntryChanged(generating.ClaimGenerator):
    """The claim says that it is for another entry of the pod."""

    shows_otherwise = True

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        return super()._annotations(f"{entry_name}-2", from_template)


class StatusNamesShared(pod_syncing.PodSyncer):
    """The status of a pod names one claim for all entries."""

    shows_otherwise = True

    def _apply(self, pod: Object, names: dict[str, str]) -> None:
        super()._apply(pod, dict.fromkeys(names, next(iter(names.values()))) if names else names)


class StatusNamesStrange(pod_syncing.PodSyncer):
    """The status of a pod names the claims of another one."""

    shows_otherwise = True
    _before: ClassVar[dict[str, str]] = {}
    """The names of another pod."""

    def _apply(self, pod: Object, names: dict[str, str]) -> None:
        before = type(self)._before
        type(self)._before = names
        super()._apply(pod, before if before.keys() == names.keys() else names)
