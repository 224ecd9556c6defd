"""Formats of names, keys, addresses and other short strings.

Functions of the type `Problems` return error messages for a string, none if it is valid.
"""

import functools
import ipaddress
import re
from collections.abc import Callable, Sequence

Problems = Callable[[str], Sequence[str]]
_CACHE_SIZE = 8192
_NAME_MAX = 63
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NUMBER, _WORD = r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"


def _matching(pattern: str, what: str, *, most: int | None = None) -> Problems:
    """Return the format of strings that a pattern matches, with at most `most` characters."""
    compiled, why = re.compile(pattern), f"must be {what}, and match '{pattern}'"

    @functools.lru_cache(_CACHE_SIZE)
    def problems(value: str) -> tuple[str, ...]:
        is_long = most is not None and len(value) > most
        long = (f"must be no more than {most} characters",) if is_long else ()
        return long if compiled.fullmatch(value) else (*long, why)

    return problems


_LABEL = "[a-z0-9]++(?:-++[a-z0-9]++)*+"
"""Like `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, but without backtracking: linear time."""
label = _matching(_LABEL, "a lower case label (RFC 1123)", most=_NAME_MAX)
subdomain = _matching(rf"{_LABEL}(?:\.{_LABEL})*+", "a lower case domain (RFC 1123)", most=253)
path_segment = _matching(r"(?!\.\.?$)[^/%]*", "a segment of a URL's path")
label_value = _matching(f"({_NAME})?", "a label value", most=_NAME_MAX)
c_identifier = _matching("[A-Za-z_][A-Za-z0-9_]*", "a C identifier")
condition_reason = _matching("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", "a condition's reason")
config_key = _matching(r"(?!\.\.)(?!\.$)[-._a-zA-Z0-9]+", "a key of a ConfigMap", most=253)
semantic_version = _matching(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    "a semantic version (semver.org 2.0.0)",
)
uid = _matching("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a UUID in lower case (RFC 4122)")
_short_name = _matching(_NAME, "a name", most=_NAME_MAX)


@functools.lru_cache(_CACHE_SIZE)
def qualified_name(value: str) -> tuple[str, ...]:
    """Validate a qualified name, such as a label key: a name with an optional `domain/` prefix."""
    prefix, slash, name = value.rpartition("/")
    if value.count("/") > 1:
        return ("must be a name with an optional DNS subdomain as its prefix, and one '/'",)
    problems = [f"prefix part {problem}" for problem in subdomain(prefix)] if prefix else []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    if not name:
        problems.append("name part must be non-empty")
    return (*problems, *(f"name part {problem}" for problem in _short_name(name)))


def interface_cidr(value: str) -> Sequence[str]:
    """Validate an interface address in CIDR form, written as Go prints it."""
    address, _, length = value.partition("/")
    try:
        interface = ipaddress.ip_interface((address, int(length) if length.isdecimal() else -1))
    except ValueError:
        return ("must be an address in CIDR form, as 10.9.8.7/24 or 2001:db8::1/64",)
    canonical = interface.with_prefixlen
    return () if value == canonical else (f'must be in canonical form ("{canonical}")',)
