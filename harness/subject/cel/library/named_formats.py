"""Kubernetes' named formats: `format.dns1123Label().validate(text)`.

The messages are those of k8s.io/apimachinery/pkg/util/validation.
"""

import base64
import dataclasses
import datetime
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

from harness.subject.cel.library import times
from harness.subject.cel.values import NONE, EvaluationError, Optional, no_overload, some

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_UUID = "[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"
_LABEL_MAX, _SUBDOMAIN_MAX = 63, 253
_WORDS = "must consist of lower case alphanumeric characters"
_LABEL_WORDS = (
    f"a lowercase RFC 1123 label {_WORDS} or '-', and must start and end with an alphanumeric "
    f"character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_WORDS = (
    f"a lowercase RFC 1123 subdomain {_WORDS}, '-' or '.', and must start and end with an "
    f"alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_1035_WORDS = (
    f"a DNS-1035 label {_WORDS} or '-', start with an alphabetic character, and end with an "
    f"alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL_1035}')"
)
_NAME_WORDS = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_NAME}')"
)
_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_VALUE}')"
)
Check = Callable[[str], list[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format, by its name."""

    name: str
    cel_type = "kubernetes.NamedFormat"


def _pattern(pattern: str, words: str, length: int) -> Check:
    def check(text: str) -> list[str]:
        problems = [f"must be no more than {length} characters"] if len(text) > length else []
        return problems if re.fullmatch(pattern, text) else [*problems, words]

    return check


def _prefix(check: Check) -> Check:
    """Return the check of a prefix, whose last dash stands for the rest of the name."""
    return lambda text: check(f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text)


def _qualified_name(text: str) -> list[str]:
    *prefix, name = text.split("/")
    if len(prefix) > 1:
        return [
            "a qualified name "
            + _NAME_WORDS.removeprefix("name part ")
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = [f"prefix part {words}" for part in prefix for words in _SUBDOMAIN_CHECK(part)]
    if prefix == [""]:
        problems = ["prefix part must be non-empty"]
    if not name:
        problems.append("name part must be non-empty")
    return problems + [
        words if words.startswith("name part") else f"name part {words}"
        for words in _pattern(_NAME, _NAME_WORDS, _LABEL_MAX)(name)
    ]


def _raises(parse: Callable[[str], object], words: str) -> Check:
    def check(text: str) -> list[str]:
        try:
            parse(text)
        except (ValueError, EvaluationError):
            return [words]
        return []

    return check


def _uri(text: str) -> None:
    parts = urllib.parse.urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(text)


def _base64(text: str) -> None:
    base64.b64decode(text, validate=True)


def _date(text: str) -> None:
    datetime.datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=datetime.UTC)


_SUBDOMAIN_CHECK = _pattern(_SUBDOMAIN, _SUBDOMAIN_WORDS, _SUBDOMAIN_MAX)
_LABEL_CHECK = _pattern(_LABEL, _LABEL_WORDS, _LABEL_MAX)
_LABEL_1035_CHECK = _pattern(_LABEL_1035, _LABEL_1035_WORDS, _LABEL_MAX)
_CHECKS: dict[str, Check] = {
    "dns1123Label": _LABEL_CHECK,
    "dns1123Subdomain": _SUBDOMAIN_CHECK,
    "dns1035Label": _LABEL_1035_CHECK,
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": _prefix(_LABEL_CHECK),
    "dns1123SubdomainPrefix": _prefix(_SUBDOMAIN_CHECK),
    "dns1035LabelPrefix": _prefix(_LABEL_1035_CHECK),
    "labelValue": _pattern(_VALUE, _VALUE_WORDS, _LABEL_MAX),
    "uri": _raises(_uri, "invalid URI"),
    "uuid": lambda text: [] if re.fullmatch(_UUID, text) else ["does not match the UUID format"],
    "byte": _raises(_base64, "invalid base64"),
    "date": _raises(_date, "invalid date"),
    "datetime": _raises(times.timestamp, "invalid datetime"),
}


def _named(name: Any) -> Optional:
    if not isinstance(name, str):
        raise no_overload()
    return some(NamedFormat(name)) if name in _CHECKS else NONE


def _validate(named: Any, text: Any) -> Optional:
    if not isinstance(named, NamedFormat) or not isinstance(text, str):
        raise no_overload()
    problems = _CHECKS[named.name](text)
    return some(problems) if problems else NONE


def _constructor(name: str) -> Callable[[], NamedFormat]:
    return lambda: NamedFormat(name)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "format.named": _named,
    "validate": _validate,
    **{f"format.{name}": _constructor(name) for name in _CHECKS},
}
"""The functions by name."""
