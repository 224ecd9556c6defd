"""Defects that each spoil one field that the API calls a copy or computed."""

import copy
from typing import Any, ClassVar

from harness.subject.allocation import allocators
from harness.subject.claim_control import generating, pod_syncing
from harness.subject.extended_resources import extended_claims
from harness.subject.plugin import claim_binding, scheduling_attempts

Object = dict[str, Any]


class _Spoiled(allocators.Allocator):
    """An allocator that changes its results."""

    shows_otherwise = True

    def allocate(self, node: Object) -> list[Object] | None:
        """Spoil what is found; devices and claims share parts of it, so these are copied."""
        found = copy.deepcopy(super().allocate(node))
        for allocation in found or ():
            self._spoil(allocation, node)
            for row in allocation["devices"]["results"]:
                self._spoil_row(row)
        return found

    def _spoil(self, allocation: Object, node: Object) -> None:
        """Change an allocation."""

    def _spoil_row(self, row: Object) -> None:
        """Change a result."""


class TolerationsLost(_Spoiled):
    """The tolerations of the request are not copied (kubernetes#134434)."""

    def _spoil_row(self, row: Object) -> None:
        row.pop("tolerations", None)


class TolerationsInvented(_Spoiled):
    """Every result tolerates everything."""

    def _spoil_row(self, row: Object) -> None:
        row["tolerations"] = [{"operator": "Exists"}]


class ConditionsLost(_Spoiled):
    """The conditions of the slice are not copied, so that nothing waits for the device."""

    def _spoil_row(self, row: Object) -> None:
        row.pop("bindingConditions", None)
        row.pop("bindingFailureConditions", None)


class FailureConditionsChanged(_Spoiled):
    """Failures of the device are looked for under another name."""

    def _spoil_row(self, row: Object) -> None:
        if row.get("bindingFailureConditions"):
            row["bindingFailureConditions"] = ["flake-hunt.example/other"]


class _ConfigSpoiled(_Spoiled):
    def _spoil(self, allocation: Object, node: Object) -> None:
        devices = allocation["devices"]
        devices["config"] = self._config(devices.get("config") or [])

    def _config(self, config: list[Object]) -> list[Object]:
        return config


class ConfigOfClassLost(_ConfigSpoiled):
    """The configuration of the class is not copied."""

    def _config(self, config: list[Object]) -> list[Object]:
        return [item for item in config if item["source"] != "FromClass"]


class ConfigOfClaimLost(_ConfigSpoiled):
    """The configuration of the claim is not copied."""

    def _config(self, config: list[Object]) -> list[Object]:
        return [item for item in config if item["source"] != "FromClaim"]


class ConfigSourceChanged(_ConfigSpoiled):
    """The configuration of the claim counts as that of the class."""

    def _config(self, config: list[Object]) -> list[Object]:
        return [item | {"source": "FromClass"} for item in config]


class ConfigReversed(_ConfigSpoiled):
    """The configuration of the class overrides that of the claim."""

    def _config(self, config: list[Object]) -> list[Object]:
        return config[::-1]


class ConfigForAll(_ConfigSpoiled):
    """The configuration for one request is used for all of them (kubernetes#139732)."""

    def _config(self, config: list[Object]) -> list[Object]:
        return [{key: item[key] for key in item if key != "requests"} for item in config]


class SelectorNarrowed(_Spoiled):
    """The claim is bound to the node of its first pod, wherever else its devices are."""

    def _spoil(self, allocation: Object, node: Object) -> None:
        field = {"key": "metadata.name", "operator": "In", "values": [node["metadata"]["name"]]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}


class SelectorLost(_Spoiled):
    """All nodes seem to reach the devices."""

    def _spoil(self, allocation: Object, node: Object) -> None:
        allocation.pop("nodeSelector", None)


class _AmountsSpoiled(_Spoiled):
    def _spoil_row(self, row: Object) -> None:
        if row.get("consumedCapacity"):
            row["consumedCapacity"] = self._amounts(row["consumedCapacity"])

    def _amounts(self, amounts: dict[str, str]) -> dict[str, str]:
        return amounts


class AmountsOmitted(_AmountsSpoiled):
    """The amounts that a share consumes are not written."""

    def _amounts(self, amounts: dict[str, str]) -> dict[str, str]:
        return {}


class AmountsTooLow(_AmountsSpoiled):
    """The amounts are not rounded up by the request policy."""

    def _amounts(self, amounts: dict[str, str]) -> dict[str, str]:
        return dict.fromkeys(amounts, "1")


class AmountsTooHigh(_AmountsSpoiled):
    """A share takes more than was asked for."""

    def _amounts(self, amounts: dict[str, str]) -> dict[str, str]:
        return dict.fromkeys(amounts, "20E")


class AmountsBelowZero(_AmountsSpoiled):
    """A share gives back what others consume."""

    def _amounts(self, amounts: dict[str, str]) -> dict[str, str]:
        return dict.fromkeys(amounts, "-1")


class AmountsOfOtherNames(_AmountsSpoiled):
    """The amounts are written for capacities that the device lacks."""

    def _amounts(self, amounts: dict[str, str]) -> dict[str, str]:
        return {f"other.example/{name}": text for name, text in amounts.items()}


class ShareIDLost(_Spoiled):
    """A share looks as if the claim had the whole device."""

    def _spoil_row(self, row: Object) -> None:
        row.pop("shareID", None)
        row.pop("consumedCapacity", None)


class ShareIDInvented(_Spoiled):
    """A whole device looks like a share of it."""

    def _spoil_row(self, row: Object) -> None:
        row.setdefault("shareID", "8d2c4b0e-0f2a-5d61-9a51-3f0a8f6a4c11")


class AdminAccessLost(_Spoiled):
    """A claim that only watches a device seems to have it."""

    def _spoil_row(self, row: Object) -> None:
        row.pop("adminAccess", None)


class RequestOfAlternativeShortened(_Spoiled):
    """A result names the request, but not its alternative that was chosen."""

    def _spoil_row(self, row: Object) -> None:
        row["request"] = row["request"].partition("/")[0]


# ------------------------------------------------------------------------- what is bound


class ReservationOfAnotherUID(claim_binding.ClaimBinder):
    """The claim is reserved for a pod that had this name before."""

    shows_otherwise = True

    def _put_allocation(self, claim: Object) -> Object:
        changed = copy.deepcopy(claim)
        changed["status"]["reservedFor"][-1]["uid"] = "00000000-0000-0000-0000-000000000000"
        return super()._put_allocation(changed)


class ReservationOfAnotherKind(claim_binding.ClaimBinder):
    """The claim is reserved for the pod as if that were an object of another kind."""

    shows_otherwise = True

    def _put_allocation(self, claim: Object) -> Object:
        changed = copy.deepcopy(claim)
        changed["status"]["reservedFor"][-1] |= {"resource": "jobs", "apiGroup": "batch"}
        return super()._put_allocation(changed)


class _MappingsSpoiled(claim_binding.ClaimBinder):
    shows_otherwise = True

    def _record_extended(self, attempt: scheduling_attempts.Attempt) -> None:
        mappings = self._mappings(attempt.mappings)
        extended_claims.record(self._api, attempt.pod, attempt.claims[-1], mappings)

    def _mappings(self, mappings: list[Object]) -> list[Object]:
        return mappings


class MappingsLost(_MappingsSpoiled):
    """Only one container is mapped to a request of the claim for extended resources."""

    def _mappings(self, mappings: list[Object]) -> list[Object]:
        return mappings[:1]


class MappingsToNone(_MappingsSpoiled):
    """The containers are mapped to requests that the claim lacks."""

    def _mappings(self, mappings: list[Object]) -> list[Object]:
        return [item | {"requestName": f"{item['requestName']}-old"} for item in mappings]


class MappingsToOne(_MappingsSpoiled):
    """All containers are mapped to the request of one of them."""

    def _mappings(self, mappings: list[Object]) -> list[Object]:
        return [item | {"requestName": mappings[0]["requestName"]} for item in mappings]


# ------------------------------------------------------------------------- what is generated


class _GeneratedSpoiled(generating.ClaimGenerator):
    shows_otherwise = True

    def generated_claim(self, pod: Object, entry_name: str, template: Object) -> Object:
        """Spoil the claim."""
        made = copy.deepcopy(super().generated_claim(pod, entry_name, template))
        self._spoil(made)
        return made

    def _spoil(self, claim: Object) -> None:
        """Change a claim."""


class TemplateSpecChanged(_GeneratedSpoiled):
    """The claim asks for another number of devices than its template."""

    def _spoil(self, claim: Object) -> None:
        for request in claim["spec"]["devices"]["requests"]:
            request["exactly"]["count"] = 1 if request["exactly"].get("count", 1) > 1 else 2


class TemplateConfigLost(_GeneratedSpoiled):
    """The claim has no parameters for its driver."""

    def _spoil(self, claim: Object) -> None:
        claim["spec"]["devices"].pop("config", None)


class TemplateLabelsLost(_GeneratedSpoiled):
    """The claim does not get the labels of its template."""

    def _spoil(self, claim: Object) -> None:
        claim["metadata"]["labels"] = {}


class TemplateLabelsInvented(_GeneratedSpoiled):
    """The claim gets a label that its template lacks."""

    def _spoil(self, claim: Object) -> None:
        claim["metadata"]["labels"]["made-by"] = "controller"


class TemplateAnnotationsLost(_GeneratedSpoiled):
    """The claim has only the annotation of the controller."""

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        return super()._annotations(entry_name, {})


class EntryChanged(_GeneratedSpoiled):
    """The claim says that it is for another entry of the pod."""

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
