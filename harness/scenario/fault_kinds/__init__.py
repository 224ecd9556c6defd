"""The kinds of faults that a scenario can have.

A module says of its kinds all that the harness asks: keys, sentence, rule of a carrier, why it
cannot work in a run, how it is drawn, and what it explains. Not in here: injecting, which is done
where the processes are (`run.faulting`) or by a carrier.
"""

import functools
import importlib
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import pydantic

from harness.scenario.fault_kinds import fault

_MODULES = (
    "traffic_kinds",
    "client_fault",
    "stopped_processes",
)
"""The modules of the kinds, in the order of documents; a nemesis draws in this order too."""
KINDS: tuple[type[fault.Fault], ...] = (
    *(kind for name in _MODULES for kind in importlib.import_module(f"{__name__}.{name}").KINDS),
    fault.Nemesis,
)
BY_NAME: Mapping[str, type[fault.Fault]] = {
    str(name): kind for kind in KINDS for name in get_args(kind.model_fields["kind"].annotation)
}
"""The kinds by the key `kind` of scenarios, plans and records."""

if TYPE_CHECKING:
    AnyFault: TypeAlias = fault.Fault
else:
    AnyFault = Annotated[
        functools.reduce(operator.or_, KINDS), pydantic.Field(discriminator="kind")
    ]
_any_fault: pydantic.TypeAdapter[fault.Fault] = pydantic.TypeAdapter(AnyFault)


def one(keys: Mapping[str, Any]) -> fault.Fault:
    """Return the fault with these keys, as in a scenario file.

    Raises pydantic.ValidationError if they are not those of a fault.
    """
    return _any_fault.validate_python(keys)


def of(name: str) -> type[fault.Fault]:
    """Return the kind of this name; one of another version has no effect that checks know."""
    return BY_NAME.get(name, fault.Fault)


def named(faults: Sequence[fault.Fault]) -> Iterator[tuple[str, fault.Fault]]:
    """Yield the faults with their names: given ones, or the kind, numbered from the second on."""
    taken = {item.name for item in faults if item.name}
    for item in faults:
        number, name = 2, item.name or item.kind
        while not item.name and name in taken:
            name, number = f"{item.kind}-{number}", number + 1
        taken.add(name)
        yield name, item


def require_consistent(faults: Sequence[fault.Fault]) -> None:
    """Check that names differ and that conditions name faults of the scenario.

    Raises ValueError if they do not.
    """
    given = [item.name for item in faults if item.name is not None]
    doubled = [name for index, name in enumerate(given) if name in given[:index]]
    if doubled:
        raise ValueError(f"faults: expected different names, got {doubled[0]!r} twice")
    names = [name for name, _ in named(faults)]
    for item in faults:
        if item.start_after is not None and item.start_after.fault not in names:
            raise ValueError(
                "faults: expected start_after to name a fault of the scenario, got "
                f"{item.start_after.fault!r}. Known: {', '.join(names)}"
            )
