"""Format decoded JSON as Go's `fmt` package does, for error messages that quote a request."""

from typing import Any

from harness.apiserver.codec import json_codec


def plain(value: Any) -> str:
    """Format a value like `%v`: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain, value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else json_codec.encode(value).decode()


def syntax(value: Any) -> str:
    """Format a value like `%#v`: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{syntax(key)}:{syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(syntax, value))}}}"
    return json_codec.encode(value).decode()
