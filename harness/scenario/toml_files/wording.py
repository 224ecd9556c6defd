"""Mistakes that pydantic finds in files and options: the key, what was expected, and what came."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import pydantic

from harness import suggestions
from harness.scenario.toml_files import removed_keys

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
        case "extra_forbidden" if where in removed_keys.KEYS:
            return f"  {where}: no key any more. {removed_keys.KEYS[where]}"
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
    """Yield the parts of a location that are keys and numbers of a document, and no forms."""
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
    wanted = ".".join(part for part in where.split(".") if not part.isdigit())
    table, _, last = wanted.rpartition(".")
    known = [key for key in _every_key(root) if key != wanted]
    beside = [key for key in known if key.rpartition(".")[0] == table]
    elsewhere = [f" Did you mean {key!r}?" for key in known if key.endswith(f".{last}")]
    return suggestions.did_you_mean(wanted, beside) or next(iter(elsewhere), "")


def _every_key(kind: Any, before: str = "") -> Iterator[str]:
    """Yield the dotted keys of a type, without the numbers of lists."""
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
