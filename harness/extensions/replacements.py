"""Classes that replace a part of correct code: known defects, remedies, and what releases do.

A part is a field of a dataclass of classes, the whole, such as the scheduler's parts. Its
replacement is a subclass, with a docstring that says what is wrong, and with `facts`. Those that
are shipped are found in the modules of a package; those of other packages are plug-ins. Several can
be combined if they are of different parts, or override different methods.
"""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from harness import errors, suggestions
from harness.extensions import discovery, entry_points, loading

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

P = TypeVar("P", bound="DataclassInstance")
LIVE_CHECKS = ("device_exclusivity", "device_consumption")
"""The checks whose violations can be seen while a run goes on."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """Releases of Kubernetes, or words for those of something else."""

    first: str = ""
    """The first release with the defect; empty: it has always been there."""
    last: str = ""
    """The last one; `1.35` includes its patch releases. Empty: see `words`."""
    is_open: bool = False
    """It is not fixed after `last`, the newest release that was looked at."""
    fixed: tuple[str, ...] = ()
    """Patch releases inside the range from which on a minor release is without it, as `1.34.4`."""
    of: str = ""
    """The part of Kubernetes, where the defect's own part does not say it."""
    given: str = ""
    """A condition of it, such as a feature gate that is on."""
    words: str = ""
    """Instead of a range: which versions, for what is no release of Kubernetes."""

    def __str__(self) -> str:
        if self.words:
            return self.words
        span = f"{self.first} to {self.last}" if self.first else f"up to {self.last}"
        span = self.last if self.first == self.last else span
        text = f"{self.of} {span}".strip() + " and newer" * self.is_open
        fixed = f"fixed in {' and '.join(self.fixed)}" if self.fixed else ""
        return ", ".join(filter(None, [text, fixed, self.given]))

    def include(self, release: str) -> bool:
        """Return whether a release, such as `1.34.2`, is in the range."""
        if self.words:
            return False
        version = _numbers(release)
        first, last = _numbers(self.first), _numbers(self.last)
        if any(version[:2] == of[:2] and version >= of for of in map(_numbers, self.fixed)):
            return False
        return version[: len(first)] >= first and (self.is_open or version[: len(last)] <= last)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split("."))) if version else ()


NEVER = Releases(words="none")
"""Those of a mutant, which was never shipped."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts about a replacement that its code and its docstring cannot say."""

    name: str = ""
    """Its name on the command line; that of a plug-in is its entry point's."""
    check: str = "device_exclusivity"
    """The check that catches a defect in a run. In a world its oracle judges the same."""
    issues: tuple[str, ...] = ()
    """Where it was reported, as `kubernetes#136269`."""
    releases: Releases = NEVER
    """The releases that have it; NEVER: it is a mutant."""
    worlds: tuple[str, ...] = ()
    """Worlds of `flake-hunt explore` in which a defect is found within seconds."""
    rule: str = ""
    """The rule of `driver-test` that shows a defect of the driver which no run and no world can."""
    instead_of: tuple[str, ...] = ()
    """Names of known defects that the class of a release's difference has, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Replacement:
    """A class that replaces a part by a subclass of it."""

    part: str
    """The field of `whole`."""
    replacement: type[Any]
    whole: type[Any]
    """The dataclass with all parts: the scheduler's, for example."""
    process: str
    """The process that is made of these parts, such as `scheduler`."""
    facts: Facts = Facts()

    @property
    def shows_otherwise(self) -> bool:
        """True for a defect that shows in other ways than by devices that are given away twice."""
        return self.facts.check not in LIVE_CHECKS

    @property
    def description(self) -> str:
        """The docstring."""
        return inspect.getdoc(self.replacement) or ""

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
        package: str,
        wholes: Mapping[str, type[Any]],
        *,
        plugins: bool = False,
        own_plugins: bool = False,
    ) -> None:
        """`kind` and `plural` are the words for one and for several of them in messages.

        `package`: the package, or module, that has the classes. `wholes`: the dataclasses of parts
        by process. `plugins`: plug-ins of the group `defects` are known, too; `own_plugins`: only
        those that replace one of these parts, as another catalogue has the others.
        """
        self._kind, self._plural, self._wholes = kind, plural, wholes
        self._has_plugins, self._only_own = plugins or own_plugins, own_plugins
        found = sorted(_classes(package), key=lambda item: str(item.facts.name))
        self._known = {item.facts.name: self._made(item, item.facts) for item in found}

    def _made(self, found: Any, facts: Facts) -> Replacement:
        """Return what a class replaces. Raises ValueError if it is no subclass of a part."""
        for process, whole in self._wholes.items():
            for field in dataclasses.fields(whole):
                correct = getattr(whole(), field.name)
                if inspect.isclass(found) and found is not correct and issubclass(found, correct):
                    return Replacement(field.name, found, whole, process, facts)
        raise ValueError(f"no part of a {self._kind}: {found!r:.100}")

    def names(self, process: str | None = None) -> tuple[str, ...]:
        """Return the names of those that are shipped; `process` None: those of all processes."""
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

    def describe(self, name: str) -> str:
        """Return the description of a replacement. Raises UsageError for an unknown name."""
        return self.named(name).description

    def require_known(self, chosen: Iterable[str]) -> None:
        """Raise UsageError for an unknown name."""
        self.chosen(chosen)

    def chosen(self, names: Iterable[str]) -> dict[str, Replacement]:
        """Return the replacements of these names. Raises UsageError for an unknown name."""
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
            made = self._made(found, getattr(found, "facts", Facts(check=unseen)))
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
    below = pkgutil.walk_packages(getattr(top, "__path__", ()), f"{package}.")
    for module in (top, *(importlib.import_module(info.name) for info in below)):
        for kind in list(vars(module).values()):
            if (
                inspect.isclass(kind)
                and kind.__module__ == module.__name__
                and "facts" in vars(kind)
            ):
                yield kind


def replaced(correct: P, chosen: Mapping[str, Replacement]) -> P:
    """Return the parts with the chosen replacements; those of other wholes are left out.

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
