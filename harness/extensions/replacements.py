"""Classes that replace a part of correct code: known defects, remedies, and what releases do.

A part is a field of a dataclass of classes, the whole, such as the scheduler's parts. Its
replacement is a subclass. Those that are shipped have a name (`known_as`), and a row of that name
in the TOML file of their package says what is wrong; a few consist of classes of several parts.
Those of other packages are plug-ins: one class with a docstring, and with `facts`. Several can be
combined if they are of different parts, or override different methods.
"""

import collections
import dataclasses
import functools
import importlib
import importlib.resources
import inspect
import pkgutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from harness import errors, suggestions
from harness.extensions import discovery, entry_points, loading

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

P = TypeVar("P", bound="DataclassInstance")
T = TypeVar("T", bound=type[Any])
LIVE_CHECKS = ("device_exclusivity", "device_consumption")
"""The checks whose violations can be seen while a run goes on."""


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The facts that the code of a replacement cannot say: a row of TOML."""

    text: str = ""
    """The mistake and its fix, in prose; empty: the docstring says it."""
    check: str = "device_exclusivity"
    """The check that catches a defect in a run. In a world its oracle judges the same."""
    issues: tuple[str, ...] = ()
    """Where it was reported, as `kubernetes#136269`."""
    releases: str = ""
    """The releases that have it, as prose; empty: it is a mutant, which was never shipped."""
    worlds: tuple[str, ...] = ()
    """Worlds of `flake-hunt explore` in which a defect is found within seconds."""
    rule: str = ""
    """The rule of `driver-test` that shows a defect of the driver which no run and no world can."""


def known_as(name: str) -> Callable[[T], T]:
    """Mark a class as the replacement of this name, or as its part of it."""

    def mark(kind: T) -> T:
        kind.known_as = name
        return kind

    return mark


@dataclasses.dataclass(frozen=True, slots=True)
class Replacement:
    """Classes that each replace a part by a subclass of it; mostly one."""

    parts: Mapping[str, type[Any]]
    """The classes by the field of `whole` that they replace."""
    whole: type[Any]
    """The dataclass with all parts: the scheduler's, for example."""
    process: str
    """The process that is made of these parts, such as `scheduler`."""
    facts: Facts

    @property
    def shows_otherwise(self) -> bool:
        return self.facts.check not in LIVE_CHECKS

    @property
    def description(self) -> str:
        first = next(iter(self.parts.values()))
        return self.facts.text.strip() or inspect.getdoc(first) or ""

    def overridden(self) -> dict[tuple[str, str], Any]:
        """Return the methods that it overrides, apart from `__init__`, by part and name."""
        correct = self.whole()
        return {
            (part, name): getattr(kind, name)
            for part, kind in self.parts.items()
            for own in kind.__mro__
            if own not in getattr(correct, part).__mro__
            for name in vars(own)
            if not name.startswith("__") and hasattr(getattr(correct, part), name)
        }


class Catalogue:
    """The replacements of one kind, by name."""

    def __init__(
        self,
        kind: str,
        plural: str,
        package: str,
        wholes: Mapping[str, type[Any]],
        *,
        plugins: bool = False,
        own_plugins: bool = False,
    ) -> None:
        """`kind` and `plural` are the words for one and for several of them in messages.

        `package` has the classes, and the rows in a file `defects.toml`, for example. `wholes`: the
        dataclasses of parts by process. `plugins`: plug-ins of the group `defects` are known, too;
        `own_plugins`: only those that replace one of these parts, as another catalogue has the
        others.
        """
        self._kind, self._plural, self._wholes = kind, plural, wholes
        self._has_plugins, self._only_own = plugins or own_plugins, own_plugins
        of_name = collections.defaultdict(list)
        for found in _classes(package):
            of_name[found.known_as].append(found)
        rows = importlib.resources.files(package).joinpath(f"{plural}.toml").read_text()
        facts = msgspec.convert(tomllib.loads(rows), dict[str, Facts])
        self._known = {
            name: self._made(kinds, facts[name]) for name, kinds in sorted(of_name.items())
        }

    def _made(self, found: Iterable[Any], facts: Facts) -> Replacement:
        """Return what classes replace. Raises ValueError if one is no subclass of a part."""
        replaced = [(*self._part(kind), kind) for kind in found]
        process = replaced[0][0]
        parts = {part: kind for _, part, kind in replaced}
        return Replacement(parts, self._wholes[process], process, facts)

    def _part(self, found: Any) -> tuple[str, str]:
        for process, whole in self._wholes.items():
            for field in dataclasses.fields(whole):
                correct = getattr(whole(), field.name)
                if inspect.isclass(found) and found is not correct and issubclass(found, correct):
                    return process, field.name
        raise ValueError(f"no part of a {self._kind}: {found!r:.100}")

    def names(self, process: str | None = None) -> tuple[str, ...]:
        known = self._known.items()
        return tuple(name for name, item in known if process in (None, item.process))

    def of_process(self, chosen: Iterable[str], process: str) -> list[str]:
        """Return those of the chosen that change a process. Raises UsageError if unknown."""
        return [name for name in chosen if self.named(name).process == process]

    def require_process(self, chosen: Iterable[str], process: str) -> None:
        """Raise UsageError for an unknown name, or one of another process."""
        for name in chosen:
            other = self.named(name).process
            if other != process:
                known = ", ".join(self.names(process)) or "none"
                raise errors.UsageError(
                    f"expected a {self._kind} of the {process}, got {name!r}, which is one of the "
                    f"{other}. Known {self._plural} of the {process}: {known}"
                )

    def chosen(self, names: Iterable[str]) -> dict[str, Replacement]:
        return {name: self.named(name) for name in names}

    def named(self, name: str) -> Replacement:
        """Return the replacement of this name. Raises UsageError for an unknown name."""
        found = self.find(name)
        if found is None:
            raise errors.UsageError(
                f"expected a known {self._kind}, got {name!r}. Known {self._plural}: {', '.join(self._known)}."
                f"{suggestions.did_you_mean(name, self._known)}"
            )
        return found

    def find(self, name: str) -> Replacement | None:
        """Return the replacement of this name; None if there is none, nor a plug-in.

        A plug-in is imported. Raises PluginError if it cannot be used.
        """
        if name in self._known or not self._has_plugins:
            return self._known.get(name)
        plugin = discovery.named("defects", name)
        return None if plugin is None else self._loaded(plugin)

    @functools.cache  # noqa: B019 - catalogues live as long as the process
    def _loaded(self, plugin: entry_points.Plugin) -> Replacement | None:
        found = loading.load(plugin)
        unseen = "claim_progress" if getattr(found, "shows_otherwise", False) else Facts().check
        try:
            made = self._made([found], getattr(found, "facts", Facts(check=unseen)))
        except ValueError as error:
            if self._only_own:
                return None
            wholes = " or ".join(whole.__name__ for whole in self._wholes.values())
            raise errors.PluginError(
                f"expected {plugin} to be a subclass of a part of {wholes}, got {found!r:.100}"
            ) from error
        if not (made.overridden() and found.__doc__):
            raise errors.PluginError(
                f"expected {plugin} to override a method and to say in its docstring what is wrong"
            )
        return made


def _classes(package: str) -> Iterator[Any]:
    top = importlib.import_module(package)
    for info in pkgutil.walk_packages(top.__path__, f"{package}."):
        for kind in list(vars(importlib.import_module(info.name)).values()):
            if inspect.isclass(kind) and kind.__module__ == info.name and "known_as" in vars(kind):
                yield kind


def replaced(correct: P, chosen: Mapping[str, Replacement]) -> P:
    """Return the parts with the chosen replacements; those of other wholes are left out.

    Raises UsageError if two of them override the same method.
    """
    chosen = {name: item for name, item in chosen.items() if item.whole is type(correct)}
    _require_apart(chosen)
    return dataclasses.replace(correct, **joined(chosen.values()))


def joined(chosen: Iterable[Replacement]) -> dict[str, type[Any]]:
    """Return one class for each part; what a replacement says comes before what later ones say."""
    of_part = collections.defaultdict(list)
    for item in chosen:
        for part, kind in item.parts.items():
            of_part[part].append(kind)
    return {part: _one(kinds) for part, kinds in of_part.items()}


def _one(kinds: list[type[Any]]) -> type[Any]:
    every = dict.fromkeys(kinds)
    last = [kind for kind in every if sum(issubclass(other, kind) for other in every) == 1]
    return last[0] if len(last) == 1 else type("Combined", tuple(last), {})


def _require_apart(chosen: Mapping[str, Replacement]) -> None:
    taken: dict[tuple[str, str], tuple[str, Any]] = {}
    for name, item in chosen.items():
        for (part, method), code in sorted(item.overridden().items()):
            other, known = taken.setdefault((part, method), (name, code))
            if known is not code:
                raise errors.UsageError(
                    f"expected defects and remedies that override different methods, but {other} and "
                    f"{name} both override {method} of the {part}: choose one of them"
                )
