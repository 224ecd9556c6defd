"""Formats of names, keys, addresses and other short strings.

Functions of the type `Problems` return error messages for a string, none if it is valid.
"""

import functools
import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import object_names

Problems = Callable[[str], Iterable[str]]
CACHE_SIZE = 8192
_NAME_MAX = 63
_KEY_MAX = 253
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_EDGES = "and must start and end with an alphanumeric character"
_NUMBER, _WORD = r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def _rule(text: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


_NAME_RULE = _rule(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_EDGES}",
    _NAME,
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE_RULE = _rule(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_EDGES}",
    f"({_NAME})?",
    "MyValue",
    "my_value",
    "12345",
)
_IDENTIFIER_RULE = _rule(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_'",
    _IDENTIFIER,
    "my_name",
    "MY_NAME",
    "MyName",
)
_REASON_RULE = _rule(
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)
_CONFIG_KEY_RULE = _rule(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)


def check(at: str, value: str, problems: Problems) -> list[Cause]:
    """Return a field error for each problem of the value."""
    return [field_errors.invalid(at, value, problem) for problem in problems(value)]


def check_required(at: str, value: str | None, problems: Problems) -> list[Cause]:
    return check(at, value, problems) if value else [field_errors.required(at)]


@functools.lru_cache(CACHE_SIZE)
def subdomain(value: str) -> tuple[str, ...]:
    """Validate an RFC 1123 subdomain."""
    return tuple(object_names.subdomain_problems(value))


@functools.lru_cache(CACHE_SIZE)
def label(value: str) -> tuple[str, ...]:
    """Validate an RFC 1123 label."""
    return tuple(object_names.label_problems(value))


@functools.lru_cache(CACHE_SIZE)
def qualified_name(value: str) -> tuple[str, ...]:
    """Validate a qualified name, such as a label key: a name with an optional `domain/` prefix."""
    prefix, slash, name = value.rpartition("/")
    if value.count("/") > 1:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a qualified name {_NAME_RULE}{optional}",)
    problems = [f"prefix part {problem}" for problem in subdomain(prefix)] if prefix else []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > _NAME_MAX:
        problems.append(f"name part must be no more than {_NAME_MAX} bytes")
    if not re.fullmatch(_NAME, name):
        problems.append(f"name part {_NAME_RULE}")
    return tuple(problems)


@functools.lru_cache(CACHE_SIZE)
def label_value(value: str) -> tuple[str, ...]:
    problems = []
    if len(value) > _NAME_MAX:
        problems.append(f"must be no more than {_NAME_MAX} bytes")
    if not re.fullmatch(f"({_NAME})?", value):
        problems.append(_VALUE_RULE)
    return tuple(problems)


def c_identifier(value: str) -> Iterator[str]:
    if not re.fullmatch(_IDENTIFIER, value):
        yield _IDENTIFIER_RULE


def condition_reason(value: str) -> Iterator[str]:
    if not re.fullmatch(_REASON, value):
        yield _REASON_RULE


def config_key(value: str) -> Iterator[str]:
    """Validate a key of a ConfigMap or Secret."""
    if len(value) > _KEY_MAX:
        yield f"must be no more than {_KEY_MAX} characters"
    if not re.fullmatch(_CONFIG_KEY, value):
        yield _CONFIG_KEY_RULE
    elif value == ".":
        yield "must not be '.'"
    elif value == "..":
        yield "must not be '..'"
    elif value.startswith(".."):
        yield "must not start with '..'"


def ip_address(value: str) -> Iterator[str]:
    """Validate an IP address. Leading zeros in IPv4 octets are allowed and mean decimal."""
    try:
        ipaddress.ip_address(_LEADING_ZEROS.sub("", value) if "." in value else value)
    except ValueError:
        yield "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def cidr(value: str) -> Iterator[str]:
    """Validate a CIDR range. Host bits may be set."""
    address, _, length = value.partition("/")
    try:
        plain = _LEADING_ZEROS.sub("", address) if "." in address else address
        ipaddress.ip_network((plain, int(length) if length.isdecimal() else -1), strict=False)
    except ValueError:
        yield "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def semantic_version(value: str) -> Iterator[str]:
    """Validate a semantic version (semver.org 2.0.0)."""
    if not _SEMVER.fullmatch(value):
        yield "must be a string compatible with semver.org spec 2.0.0"


def uid(value: str) -> Iterator[str]:
    """Validate a UUID in the normalized form of RFC 4122."""
    if len(value) not in (32, 36, 38, 45):
        yield f"error validating uid: invalid UUID length: {len(value)}"
    elif len(value) == 36 and not _UUID.fullmatch(value):
        yield "error validating uid: invalid UUID format"
    elif len(value) != 36 or value != value.lower():
        yield (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
            "lowercase hexadecimal characters"
        )


def interface_cidr(value: str) -> Iterator[str]:
    """Validate an interface address in CIDR form, written as Go prints it."""
    address, _, length = value.partition("/")
    try:
        plain = _LEADING_ZEROS.sub("", address) if "." in address else address
        interface = ipaddress.ip_interface((plain, int(length) if length.isdecimal() else -1))
    except ValueError:
        yield "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return
    if value != (canonical := interface.with_prefixlen):
        yield f'must be in canonical form ("{canonical}")'
