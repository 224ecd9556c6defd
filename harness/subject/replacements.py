"""Named classes that each replace a part of correct code: known defects, remedies, and releases.

Those of different parts can be combined, and so can those of one part if they override different
methods.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from harness import errors, suggestions
from harness.subject.scheduling import schedulers

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

P = TypeVar("P", bound="DataclassInstance")


@dataclasses.dataclass(frozen=True, slots=True)
class Replacement:
    """A class that replaces a part by a subclass of it."""

    part: str
    """The field of `whole`."""
    replacement: type[Any]
    whole: type[Any] = schedulers.SchedulerParts
    """The dataclass with all parts: the scheduler's or the claim controller's."""
    shows_otherwise: bool = False
    """True for a defect that shows in other ways than by double allocations."""

    def overridden(self) -> set[str]:
        """Return the names of the methods that the class overrides, apart from `__init__`."""
        correct = getattr(self.whole(), self.part)
        own = [kind for kind in self.replacement.__mro__ if kind not in correct.__mro__]
        names = {name for kind in own for name in vars(kind) if not name.startswith("__")}
        return {name for name in names if hasattr(correct, name)}


class Catalogue:
    """The replacements of one kind, by name."""

    def __init__(
        self,
        kind: str,
        plural: str,
        known: Mapping[str, Replacement],
        *,
        others: Callable[[str], Replacement | None] = lambda _: None,
    ) -> None:
        """`kind` and `plural` are the words for one and for several of them in messages.

        `others` finds one that is not shipped by its name; None: there is none.
        """
        self._kind, self._plural, self._known = kind, plural, dict(known)
        self._others = others

    def names(self) -> tuple[str, ...]:
        """Return the names of those that are shipped."""
        return tuple(self._known)

    def describe(self, name: str) -> str:
        """Return the description of a replacement. Raises UsageError for an unknown name."""
        return inspect.getdoc(self.named(name).replacement) or ""

    def require_known(self, chosen: Iterable[str]) -> None:
        """Raise UsageError for an unknown name."""
        for name in chosen:
            self.named(name)

    def chosen(self, names: Iterable[str]) -> dict[str, Replacement]:
        """Return the replacements of these names. Raises UsageError for an unknown name."""
        return {name: self.named(name) for name in names}

    def named(self, name: str) -> Replacement:
        """Return the replacement of this name. Raises UsageError for an unknown name."""
        found = self._known.get(name) or self._others(name)
        if found is None:
            raise errors.UsageError(
                f"expected a known {self._kind}, got {name!r}. Known {self._plural}: {', '.join(self._known)}."
                f"{suggestions.did_you_mean(name, self._known)}"
            )
        return found


def parts(chosen: Mapping[str, Replacement]) -> schedulers.SchedulerParts:
    """Return the scheduler's parts with the chosen replacements.

    Raises UsageError if two of them override the same method.
    """
    return replaced(schedulers.SchedulerParts(), chosen)


def replaced(correct: P, chosen: Mapping[str, Replacement]) -> P:
    """Return the parts with the chosen replacements; those of other parts are left out.

    Raises UsageError if two of them override the same method.
    """
    chosen = {name: item for name, item in chosen.items() if item.whole is type(correct)}
    _require_apart(chosen)
    classes: dict[str, type[Any]] = {}
    for item in chosen.values():
        other = classes.get(item.part)
        classes[item.part] = (
            type("Combined", (item.replacement, other), {}) if other else item.replacement
        )
    return dataclasses.replace(correct, **classes)


def _require_apart(chosen: Mapping[str, Replacement]) -> None:
    taken: dict[tuple[str, str], str] = {}
    for name, item in chosen.items():
        for method in sorted(item.overridden()):
            other = taken.setdefault((item.part, method), name)
            if other != name:
                raise errors.UsageError(
                    f"expected defects and remedies that override different methods, but {other} and "
                    f"{name} both override {method} of the {item.part}: choose one of them"
                )
