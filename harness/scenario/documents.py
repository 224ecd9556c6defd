"""TOML files that are found by path or by the name of a shipped one, overridden key by key, and validated with every mistake named."""

import dataclasses
import pathlib
import tomllib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pydantic

from harness import errors

SUFFIX = ".toml"
Document = dict[str, Any]
_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The shipped files of one kind, and how messages speak of them."""

    noun: str
    """`scenario`, `cluster profile`."""
    folder_name: str
    """At the top of a checkout, and inside the installed package."""
    option: str
    """The command line's option that overrides a key."""
    union: str | None = None
    """The key whose value is a tagged union; "" when the whole file is one: pydantic puts the tag into the path of a mistake."""

    def folder(self) -> pathlib.Path:
        """Where the shipped files are: the checkout's, or the installed package's."""
        checkout = pathlib.Path(__file__).parents[2] / self.folder_name
        return (
            checkout if checkout.is_dir() else pathlib.Path(__file__).parents[1] / self.folder_name
        )

    def names(self) -> list[str]:
        """The names of the shipped files."""
        return sorted(path.stem for path in self.folder().glob(f"*{SUFFIX}"))

    def find(self, name: str) -> pathlib.Path:
        """The file that a name on the command line means: a path, or the name of a shipped one."""
        path = pathlib.Path(name)
        if path.is_file():
            return path
        shipped = self.folder() / f"{name}{SUFFIX}"
        if path.name == name and shipped.is_file():
            return shipped
        known = ", ".join(self.names()) or "none"
        raise errors.ScenarioError(
            f"expected a {self.noun} file or the name of a shipped one, got {name!r}, which is neither. "
            f"Shipped {self.noun}s: {known}"
        )

    def read(self, path: pathlib.Path, overrides: Sequence[str]) -> tuple[Document, str]:
        """The document of this file with `key=value` overrides (dotted keys, TOML values), and its text as it is."""
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise errors.ScenarioError(
                f"{path}: expected a readable TOML file ({error})"
            ) from error
        document = _parse(text, path)
        for override in overrides:
            self._override(document, override)
        return document, text

    def validate(
        self, build: Callable[[Document], _T], document: Document, where: pathlib.Path | str
    ) -> _T:
        """What pydantic builds of the document; ScenarioError that names every mistake."""
        try:
            return build(document)
        except pydantic.ValidationError as error:
            mistakes = "\n".join(
                self._mistake(details) for details in error.errors(include_url=False)
            )
            count = error.error_count()
            raise errors.ScenarioError(
                f"{where}: {count} mistake{'s' if count > 1 else ''} in the {self.noun}\n{mistakes}"
            ) from error

    def _override(self, document: Document, override: str) -> None:
        key, equals, value = override.partition("=")
        if not (key and equals):
            raise errors.UsageError(f"expected {self.option}, got {override!r}")
        *parents, last = key.strip().split(".")
        target = document
        for parent in parents:
            target = target.setdefault(parent, {})
            if not isinstance(target, dict):
                raise errors.UsageError(
                    f"{self.option.split()[0]} {override}: {parent!r} is a value, not a table"
                )
        target[last] = _toml_value(value.strip())

    def _mistake(self, details: Any) -> str:
        where = ".".join(self._place(details["loc"])) or "(the file)"
        got = details.get("input")
        match details["type"]:
            case "extra_forbidden":
                return f"  {where}: unknown key (value {_short(got)}); remove it or correct its spelling"
            case "missing":
                return f"  {where}: expected a value, got none; add the key"
            case _ if not details["loc"]:  # of several keys, which the message names
                return f"  {details['msg']}"
            case _:
                kind = type(got).__name__
                return f"  {where}: {details['msg']}, got {_short(got)} (type {kind})"

    def _place(self, location: Iterable[int | str]) -> list[str]:
        """The path of a mistake without the tag of a union."""
        parts = [str(part) for part in location]
        if self.union == "":
            return parts[1:]
        return [parts[0], *parts[2:]] if parts[:1] == [self.union] else parts


def _parse(text: str, path: pathlib.Path) -> Document:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.ScenarioError(f"{path}: expected TOML; {error}") from error


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a bare word is a string: --set subject.start=after-traffic


def _short(value: Any, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"
