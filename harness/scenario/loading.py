"""Finding, reading and validating scenario files."""

import dataclasses
import pathlib
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

import pydantic

from harness import errors
from harness.scenario import specs

SUFFIX = ".toml"
_CHECKOUT = pathlib.Path(__file__).parents[2] / "scenarios"
_PACKAGED = pathlib.Path(__file__).parents[1] / "scenarios"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A scenario with the text it was read from, to be kept verbatim."""

    scenario: specs.Scenario
    text: str
    path: pathlib.Path


def shipped_folder() -> pathlib.Path:
    """Where the scenarios that come with Flake Hunt are: the checkout's, or the installed package's."""
    return _CHECKOUT if _CHECKOUT.is_dir() else _PACKAGED


def shipped_names() -> list[str]:
    """The names of the scenarios that come with Flake Hunt."""
    return sorted(path.stem for path in shipped_folder().glob(f"*{SUFFIX}"))


def find(name: str) -> pathlib.Path:
    """The file that a name on the command line means: a path, or the name of a shipped scenario."""
    path = pathlib.Path(name)
    if path.is_file():
        return path
    shipped = shipped_folder() / f"{name}{SUFFIX}"
    if path.name == name and shipped.is_file():
        return shipped
    known = ", ".join(shipped_names()) or "none"
    raise errors.ScenarioError(
        f"expected a scenario file or the name of a shipped one, got {name!r}, which is neither. "
        f"Shipped scenarios: {known}"
    )


def load(name: str, *, overrides: Sequence[str] = ()) -> Loaded:
    """The scenario of this path or name, with `key=value` overrides (dotted keys, TOML values)."""
    path = find(name)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ScenarioError(f"{path}: expected a readable TOML file ({error})") from error
    document = _parse(text, path)
    for override in overrides:
        _override(document, override)
    return Loaded(scenario=_validate(document, path), text=text, path=path)


def _parse(text: str, path: pathlib.Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.ScenarioError(f"{path}: expected TOML; {error}") from error


def _override(document: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    if not (key and equals):
        raise errors.UsageError(
            f"expected --set key=value, as in --set traffic.users=8, got {override!r}"
        )
    *parents, last = key.strip().split(".")
    target = document
    for parent in parents:
        target = target.setdefault(parent, {})
        if not isinstance(target, dict):
            raise errors.UsageError(f"--set {override}: {parent!r} is a value, not a table")
    target[last] = _toml_value(value.strip())


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a bare word is a string: --set subject.start=after-traffic


def _validate(document: dict[str, Any], path: pathlib.Path) -> specs.Scenario:
    try:
        return specs.Scenario.model_validate(document)
    except pydantic.ValidationError as error:
        mistakes = "\n".join(_mistake(details) for details in error.errors(include_url=False))
        count = error.error_count()
        raise errors.ScenarioError(
            f"{path}: {count} mistake{'s' if count > 1 else ''} in the scenario\n{mistakes}"
        ) from error


def _mistake(details: Any) -> str:
    where = ".".join(_place(details["loc"])) or "(the file)"
    got = details.get("input")
    match details["type"]:
        case "extra_forbidden":
            return (
                f"  {where}: unknown key (value {_short(got)}); remove it or correct its spelling"
            )
        case "missing":
            return f"  {where}: expected a value, got none; add the key"
        case _:
            kind = type(got).__name__
            return f"  {where}: {details['msg']}, got {_short(got)} (type {kind})"


def _place(location: Iterable[int | str]) -> Iterable[str]:
    """The path of a mistake without the tag that pydantic adds for the traffic profile."""
    parts = [str(part) for part in location]
    if len(parts) > 1 and parts[0] == "traffic":
        del parts[1]
    return parts


def _short(value: Any, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"
