"""Finds, reads, overrides and validates TOML files, both shipped and the user's."""

import dataclasses
import functools
import pathlib
import tomllib
from collections.abc import Sequence
from typing import Any

import pydantic

from harness import errors, regular_files, suggestions
from harness.extensions import discovery, entry_points, loading
from harness.scenario.toml_files import wording

SUFFIX = ".toml"
Document = dict[str, Any]


def shipped_folder(name: str) -> pathlib.Path:
    package = pathlib.Path(__file__).parents[2]
    checkout = package.parent / name
    return checkout if checkout.is_dir() else package / name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The shipped files of one kind, and their names in messages."""

    noun: str
    """`scenario` or `cluster profile`."""
    folder_name: str
    """Name of the folder, at the top of a checkout and inside the installed package."""
    option: str
    """Command line option that overrides a key, with an example, for messages."""
    kind: Any
    """Type of the content: a pydantic model, or a union of several."""
    plugins: entry_points.Kind
    """Which plug-ins are files of this kind."""
    groups: tuple[str, ...] = ()
    """Folders in the folder, with files that are found by their names, too."""

    def folder(self) -> pathlib.Path:
        """Return the folder of the shipped files, in the checkout or the installed package."""
        return shipped_folder(self.folder_name)

    def names(self, group: str = "") -> list[str]:
        """Return the names of the shipped files, sorted; `group` empty: those in no group."""
        return sorted(path.stem for path in (self.folder() / group).glob(f"*{SUFFIX}"))

    def every_name(self) -> list[str]:
        """Return the names of all shipped files, also of those in groups."""
        return [name for group in ("", *self.groups) for name in self.names(group)]

    def plugin(self, name: str) -> entry_points.Plugin | None:
        """Return the plug-in that a name on the command line means; None: it is a file, or none.

        Raises PluginError if two packages have one of this name.
        """
        if pathlib.Path(name).is_file():
            return None
        return discovery.named(self.plugins, name, shipped=self.every_name())

    def find(self, name: str) -> pathlib.Path:
        """Return the file for a name on the command line: a path, or a shipped file's or plug-in's.

        Raises ScenarioError if there is none, PluginError if a plug-in cannot be used.
        """
        path = pathlib.Path(name)
        if path.is_file():
            return path
        shipped = (self.folder() / group / f"{name}{SUFFIX}" for group in ("", *self.groups))
        if path.name == name and (found := next(filter(pathlib.Path.is_file, shipped), None)):
            return found
        if plugin := self.plugin(name):
            return loading.find(plugin, SUFFIX)
        raise self._unknown(name)

    def _unknown(self, name: str) -> errors.ScenarioError:
        plugins = discovery.usable(self.plugins, shipped=self.every_name())
        known = suggestions.listed(
            pathlib.Path(name).stem,
            [*self.every_name(), *plugins],
            title=f"Shipped {self.noun}s",
            where=f"the folder {self.folder()}",
        )
        others = f" Plug-ins: {', '.join(plugins)}." if plugins else ""
        is_what = "a folder" if name and pathlib.Path(name).is_dir() else "neither"
        return errors.ScenarioError(
            f"expected a {self.noun} file or the name of a shipped one, got {name!r}, which is "
            f"{is_what}.{known}{others}"
        )

    def read(self, path: pathlib.Path, overrides: Sequence[str]) -> tuple[Document, str]:
        """Return the document with `key=value` overrides (dotted keys, TOML values), and the text.

        Raises ScenarioError if the file is not readable TOML, UsageError for a bad override.
        """
        try:
            text = regular_files.text(path)
        except UnicodeDecodeError as error:
            raise errors.ScenarioError(
                f"{path}: expected a TOML file, got bytes that are not UTF-8 (first at byte {error.start})"
            ) from error
        except OSError as error:
            raise errors.ScenarioError(
                f"{path}: expected a readable TOML file ({error.strerror})"
            ) from error
        document = _parse(text, path)
        for override in overrides:
            self._override(document, override)
        return document, text

    def validate(self, document: Document, where: pathlib.Path | str) -> Any:
        """Return the validated value of a document.

        Raises ScenarioError, which names every mistake.
        """
        try:
            return _adapter(self.kind).validate_python(document)
        except pydantic.ValidationError as error:
            found = error.errors(include_url=False)
            mistakes = "\n".join(wording.mistake(self.kind, document, details) for details in found)
            count = f"{len(found)} mistake{'s' * (len(found) > 1)}"
            raise errors.ScenarioError(
                f"{where}: {count} in the {self.noun}\n{mistakes}"
            ) from error

    def _override(self, document: Document, override: str) -> None:
        key, equals, value = override.partition("=")
        if not (key and equals):
            raise errors.UsageError(f"expected {self.option}, got {override!r}")
        *parents, last = key.strip().split(".")
        target = document
        for parent in parents:
            target = target.setdefault(parent, {})
            if isinstance(target, list):
                raise errors.UsageError(
                    f"{self.option.split()[0]} {override}: {parent!r} is a list; replace it as a "
                    f"whole, as in {parent}=[…]"
                )
            if not isinstance(target, dict):
                raise errors.UsageError(
                    f"{self.option.split()[0]} {override}: {parent!r} is a value, not a table"
                )
        target[last] = _toml_value(value.strip())


@functools.cache
def _adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(kind)


def _parse(text: str, path: pathlib.Path) -> Document:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.ScenarioError(f"{path}: expected TOML; {error}") from error


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a word without quotes is a string: --set subject.start=after-traffic
