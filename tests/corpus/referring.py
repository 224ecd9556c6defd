"""Requests that refer to earlier answers: `{{u}}` is the case's own name, `{{stepN.path}}` a value
of step N's answer.
"""

import copy
import json
import re
from typing import Any

REFERENCE = re.compile(r"\{\{(step\d+(?:\.[A-Za-z0-9_]+)*)([+-]\d+)?\}\}")


class References:
    """Values that a case's requests can refer to."""

    def __init__(self, unique: str) -> None:
        self.unique = unique
        self.bodies: dict[int, Any] = {}

    def fill(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [item for part in value for item in self._items(part)]
        if isinstance(value, dict):
            return self._object(value)
        return value

    def _object(self, value: dict[str, Any]) -> Any:
        if "$base" in value:
            base = self.fill("{{" + value["$base"] + "}}")
            return _merged(base, self.fill(value.get("$merge", {})))
        if "$repeat" in value:
            return value["$repeat"] * value["times"]
        return {self._text(key): self.fill(item) for key, item in value.items()}

    def _items(self, part: Any) -> list[Any]:
        """A {"$each": item, "count": N} in a list stands for N items, {{i}} being the position."""
        if not (isinstance(part, dict) and "$each" in part):
            return [self.fill(part)]
        text = json.dumps(part["$each"])
        return [self.fill(json.loads(text.replace("{{i}}", str(i)))) for i in range(part["count"])]

    def _text(self, text: str) -> Any:
        whole = REFERENCE.fullmatch(text)
        if whole and not whole[2]:
            return copy.deepcopy(self._look_up(whole[1]))
        return REFERENCE.sub(self._replacement, text).replace("{{u}}", self.unique)

    def _replacement(self, match: re.Match[str]) -> str:
        value = self._look_up(match[1])
        return str(int(value) + int(match[2])) if match[2] else str(value)

    def _look_up(self, path: str) -> Any:
        head, *keys = path.split(".")
        value = self.bodies[int(head.removeprefix("step"))]
        for key in keys:
            value = value[int(key)] if isinstance(value, list) else value[key]
        return value


def _merged(base: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
