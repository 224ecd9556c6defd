"""The faults of a scenario together: their names, and the conditions that name other faults."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pydantic

from harness.scenario import fault_specs

_any_fault: pydantic.TypeAdapter[fault_specs.AnyFault] = pydantic.TypeAdapter(fault_specs.AnyFault)


def one(keys: Mapping[str, Any]) -> fault_specs.AnyFault:
    """Return the fault with these keys, as in a scenario file.

    Raises pydantic.ValidationError if they are not those of a fault.
    """
    return _any_fault.validate_python(keys)


def named(faults: Sequence[fault_specs.AnyFault]) -> Iterator[tuple[str, fault_specs.AnyFault]]:
    """Yield the faults with their names: given ones, or the kind, numbered from the second on."""
    taken = {fault.name for fault in faults if fault.name}
    for fault in faults:
        name = fault.name or _free_name(fault.kind, taken)
        taken.add(name)
        yield name, fault


def _free_name(kind: str, taken: set[str]) -> str:
    """Return the kind, or the kind with the first free number from 2 on."""
    number, name = 2, kind
    while name in taken:
        name, number = f"{kind}-{number}", number + 1
    return name


def require_consistent(faults: Sequence[fault_specs.AnyFault]) -> None:
    """Check that names differ and that conditions name faults of the scenario.

    Raises ValueError if they do not.
    """
    given = [fault.name for fault in faults if fault.name is not None]
    doubled = [name for index, name in enumerate(given) if name in given[:index]]
    if doubled:
        raise ValueError(f"faults: expected different names, got {doubled[0]!r} twice")
    names = [name for name, _ in named(faults)]
    for fault in faults:
        if fault.start_after is not None and fault.start_after.fault not in names:
            raise ValueError(
                "faults: expected start_after to name a fault of the scenario, got "
                f"{fault.start_after.fault!r}. Known: {', '.join(names)}"
            )
