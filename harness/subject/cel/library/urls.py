"""Kubernetes' URL functions, after Go's net/url and apiserver/pkg/cel/library/urls.go."""

import dataclasses
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

from harness.subject.cel.values import EvaluationError, no_overload

_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_SAFE = "$&+,/:;=@!'()*~"


@dataclasses.dataclass(frozen=True, slots=True)
class Url:
    """A parsed URL."""

    parts: urllib.parse.SplitResult
    cel_type = "kubernetes.URL"


def parse(text: str) -> Url:
    """Return a parsed absolute URI or absolute path; raises EvaluationError for anything else."""
    if not isinstance(text, str):
        raise no_overload()
    problem = _problem(text)
    if problem:
        raise EvaluationError(
            f'URL parse error during conversion from string: parse "{text}": {problem}'
        )
    return Url(urllib.parse.urlsplit(text))


def _problem(text: str) -> str:
    """Return why Go refuses a URI; empty if it does not."""
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return "net/url: invalid control character in URL"
    if text == "":
        return "empty url"
    if not text.startswith("/") and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text):
        return "invalid URI for request"
    if found := _ESCAPE.search(text.partition("?")[0]):
        return f'invalid URL escape "{text[found.start() : found.start() + 3]}"'
    try:
        parts = urllib.parse.urlsplit(text)
        _ = parts.port
    except ValueError:
        return "invalid port or host"
    if " " in parts.netloc:
        return 'invalid character " " in host name'
    return ""


def is_url(text: str) -> bool:
    try:
        parse(text)
    except EvaluationError:
        return False
    return True


def _host(parts: urllib.parse.SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _hostname(parts: urllib.parse.SplitResult) -> str:
    host = _host(parts)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if re.search(":[0-9]*$", host) else host


def _port(parts: urllib.parse.SplitResult) -> str:
    found = re.search(":([0-9]*)$", _host(parts))
    return found[1] if found else ""


def _query(parts: urllib.parse.SplitResult) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(parts.query, keep_blank_values=True)


def _escaped_path(parts: urllib.parse.SplitResult) -> str:
    return urllib.parse.quote(parts.path, safe=f"{_SAFE}%")


def _of_url(function: Callable[[urllib.parse.SplitResult], Any]) -> Callable[[Any], Any]:
    def checked(url: Any) -> Any:
        if type(url) is not Url:
            raise no_overload()
        return function(url.parts)

    return checked


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "url": parse,
    "isURL": is_url,
    "getScheme": _of_url(lambda parts: parts.scheme),
    "getHost": _of_url(_host),
    "getHostname": _of_url(_hostname),
    "getPort": _of_url(_port),
    "getEscapedPath": _of_url(_escaped_path),
    "getQuery": _of_url(_query),
}
"""The functions by name."""
