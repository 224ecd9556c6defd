"""Scripts as text: TOML with one line for each object and step."""

import json
from typing import Any

from harness.model.objects import Object

_ROWS = ("objects", "steps")
"""Keys whose values have a line for each item."""


def text(document: Object) -> str:
    """Return a scenario as the content of its file."""
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    lines = [_line(key, value) for key, value in plain.items()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(_line(key, value) for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    if key in _ROWS:
        return "\n".join([f"{key} = [", *(f"  {_value(item)}," for item in value), "]"])
    return f"{key} = {_value(value)}"


def _value(value: Any) -> str:
    """Return a value of TOML; what JSON has for it is the same but for tables."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)
