"""A device of a ResourceSlice as the variable `device` of a selector."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.subject.cel.library import quantities, semvers
from harness.subject.cel.values import EvaluationError

_SCALARS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "bool": bool,
    "string": str,
    "version": semvers.parse,
}
_LISTS = {f"{name}s": convert for name, convert in _SCALARS.items()}


class Domains(dict[str, dict[str, Any]]):
    """Attributes or capacities by domain and identifier; a missing domain is an empty map."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        """Return an empty map, as upstream's wrapper of the map does."""
        return {}


class Device:
    """The fields of `device`."""

    __slots__ = ("allow_multiple_allocations", "attributes", "capacity", "driver")

    def __init__(self, driver: str, document: Mapping[str, Any]) -> None:
        """Convert an entry of `spec.devices`.

        Raises EvaluationError for an attribute or capacity that upstream cannot convert either.
        """
        self.driver = driver
        self.allow_multiple_allocations = bool(document.get("allowMultipleAllocations"))
        self.attributes = _domains(driver, document.get("attributes"), _attribute)
        self.capacity = _domains(driver, document.get("capacity"), _capacity)

    def as_map(self) -> dict[str, Any]:
        return {
            "driver": self.driver,
            "attributes": self.attributes,
            "capacity": self.capacity,
            "allowMultipleAllocations": self.allow_multiple_allocations,
        }


def _domains(
    driver: str, values: Mapping[str, Any] | None, convert: Callable[[str, Any], Any]
) -> Domains:
    domains = Domains()
    for name, value in (values or {}).items():
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = driver, name
        domains.setdefault(domain, {})[identifier] = convert(name, value)
    return domains


def _attribute(name: str, attribute: Mapping[str, Any]) -> Any:
    for kind, value in attribute.items():
        try:
            if convert := _SCALARS.get(kind):
                return convert(value)
            if convert := _LISTS.get(kind):
                return [convert(item) for item in value]
        except EvaluationError as error:
            raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None
        except (TypeError, ValueError):
            break
    raise EvaluationError(f"attribute {name}: unsupported attribute value")


def _capacity(name: str, capacity: Mapping[str, Any]) -> quantities.Quantity:
    try:
        return quantities.parse(str(capacity["value"]))
    except (EvaluationError, KeyError, TypeError, ValueError) as error:
        raise EvaluationError(f"capacity {name}: {error}") from None
