"""Finds, reads, overrides and validates TOML files, both shipped and the user's."""

import dataclasses
import functools
import pathlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import pydantic

from harness import errors, regular_files, suggestions
from harness.extensions import discovery, entry_points, loading

_REMOVED = {
    "all workers of a load run on one machine, traffic.processes of them": (
        *("traffic.workers", "traffic.bind", "traffic.bind_is_open", "traffic.workers_wait_s"),
    ),
    "it is always as it was by default": (
        *("subject.schedulers.qps", "subject.schedulers.burst", "subject.rotates_nodes"),
        "subject.weighs_nodes",
        *("subject.claim_controller.qps", "subject.claim_controller.burst", "traffic.steps.try_s"),
        *("faults.object_name", "faults.event_types", "memory_mib_min", "disk_gib_min"),
    ),
}
REMOVED_KEYS = {key: f"Remove it: {why}" for why, keys in _REMOVED.items() for key in keys}
"""Former dotted key of a scenario or cluster -> what to do instead."""


def without(settings: Any, at: str = "") -> Any:
    """Return the settings of a recorded run, or a table of them at a key, without these keys."""
    if isinstance(settings, list):
        return [without(item, at) for item in settings]
    if not isinstance(settings, dict):
        return settings
    below = {key: f"{at}.{key}".lstrip(".") for key in settings}
    return {
        key: without(item, below[key])
        for key, item in settings.items()
        if below[key] not in REMOVED_KEYS
    }


_SHOULD = re.compile(r"^\w+ should (?:be|have|match)\b")
_PLAINER = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}
"""Words of pydantic -> those of all our messages."""
_TAGS = ("profile", "kind", "do", "provider")
"""The keys that decide the form of a table; pydantic's locations name their values, too."""
_VALUE_CHARACTERS_MAX = 60


def mistake(root: Any, document: Any, details: Mapping[str, Any]) -> str:
    """Return one line for an error that pydantic found in a document of the type `root`."""
    is_missing = details["type"] == "missing"
    where = ".".join(_keys_of(document, details["loc"], is_missing=is_missing))
    match details["type"]:
        case "extra_forbidden" if advice := REMOVED_KEYS.get(_without_numbers(where)):
            return f"  {where}: no key any more. {advice}"
        case "extra_forbidden":
            advice = _other_key(root, where) or " Remove it or correct its spelling"
            return f"  {where}: unknown key (value {_short(details['input'])}).{advice}"
        case "union_tag_not_found" | "union_tag_invalid":
            tag = details["ctx"]["discriminator"].strip("'")
            where = f"{where}.{tag}" if where else tag
    return f"  {where}: {expectation(details)}" if where else f"  {expectation(details)}"


def expectation(details: Mapping[str, Any]) -> str:
    """Return what pydantic says about one value, and the value."""
    context = details.get("ctx", {})
    match details["type"]:
        case "value_error":
            return str(context["error"])
        case "missing" | "union_tag_not_found":
            return "expected a value, got none; add the key"
        case "union_tag_invalid":
            got, known = context["tag"], context["expected_tags"]
            return f"expected one of {known}, got {got!r}{_other_word(got, known)}"
        case "literal_error" if isinstance(details["input"], str):
            near = _other_word(details["input"], context["expected"])
            return f"expected {context['expected']}, got {_short(details['input'])}{near}"
    expected = _SHOULD.sub("expected", details["msg"])
    for words, plainer in _PLAINER.items():
        expected = expected.replace(words, plainer)
    return f"{expected}, got {_short(details.get('input'))}"


def _keys_of(document: Any, location: Sequence[int | str], *, is_missing: bool) -> Iterator[str]:
    at, is_form_known = document, False
    for number, part in enumerate(location, start=1):
        is_last = is_missing and number == len(location)
        if isinstance(at, dict) and not is_form_known and part in map(at.get, _TAGS):
            is_form_known = True
        elif isinstance(at, dict) and (part in at or is_last):
            yield str(part)
            at, is_form_known = at.get(part), False
        elif isinstance(at, list) and isinstance(part, int):
            yield str(part)
            at, is_form_known = at[part], False


def _other_key(root: Any, where: str) -> str:
    """Return ` Did you mean …?` with a similar key of the same table, or the same one of another.

    Empty if there is none.
    """
    wanted = _without_numbers(where)
    table, _, last = wanted.rpartition(".")
    known = [key for key in _every_key(root) if key != wanted]
    beside = [key for key in known if key.rpartition(".")[0] == table]
    elsewhere = [f" Did you mean {key!r}?" for key in known if key.endswith(f".{last}")]
    return suggestions.did_you_mean(wanted, beside) or next(iter(elsewhere), "")


def _without_numbers(where: str) -> str:
    return ".".join(part for part in where.split(".") if not part.isdigit())


def _every_key(kind: Any, before: str = "") -> Iterator[str]:
    if not (isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)):
        for part in get_args(kind):
            yield from _every_key(part, before)
        return
    for name, field in kind.model_fields.items():
        key = f"{before}{field.alias or name}"
        yield key
        yield from _every_key(field.annotation, f"{key}.")


def _other_word(got: str, known: str) -> str:
    near = suggestions.did_you_mean(got, [word for word in known.split("'") if word.strip(", or")])
    return f".{near}" if near else ""


def _short(value: object) -> str:
    text = repr(value)
    limit = _VALUE_CHARACTERS_MAX
    return text if len(text) <= limit else text[:limit] + "…"


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
        return shipped_folder(self.folder_name)

    def names(self, group: str = "") -> list[str]:
        return sorted(path.stem for path in (self.folder() / group).glob(f"*{SUFFIX}"))

    def every_name(self) -> list[str]:
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
        plugins = discovery.usable(self.plugins, shipped=self.every_name())
        known = suggestions.listed(
            path.stem,
            [*self.every_name(), *plugins],
            title=f"Shipped {self.noun}s",
            where=f"the folder {self.folder()}",
        )
        others = f" Plug-ins: {', '.join(plugins)}." if plugins else ""
        is_what = "a folder" if name and path.is_dir() else "neither"
        raise errors.ScenarioError(
            f"expected a {self.noun} file or the name of a shipped one, got {name!r}, which is "
            f"{is_what}.{known}{others}"
        )

    def read(self, path: pathlib.Path, overrides: Sequence[str]) -> tuple[Document, str]:
        """Return the document with `key=value` overrides (dotted keys, TOML values), and the text.

        Raises ScenarioError if the file is not readable TOML, UsageError for a bad override.
        """
        try:
            text = regular_files.text(path)
            document = tomllib.loads(text)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            why = getattr(error, "strerror", "") or error
            raise errors.ScenarioError(f"{path}: expected a readable TOML file ({why})") from error
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
            mistakes = "\n".join(mistake(self.kind, document, details) for details in found)
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
            if not isinstance(target, dict):
                raise errors.UsageError(
                    f"{self.option.split()[0]} {override}: {parent!r} is a value, not a table; "
                    f"replace it as a whole, as in {parent}=[…]"
                )
        target[last] = _toml_value(value.strip())


@functools.cache
def _adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(kind)


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a word without quotes is a string: --set subject.start=after-traffic
