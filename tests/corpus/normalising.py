"""The normal form of answers: uids, resource versions, times and generated names become
placeholders.

Placeholders are numbered by first appearance within a case, so equal ones are equal values, and a
resource version that is older than one seen before says so.
"""

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
AGE = re.compile(r"(\d+[smhdy])+")
SUFFIX = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
VERSION_IN_TEXT = re.compile(
    r"(resource ?version\D{0,12}|current: |object meta: )(\d+)", re.IGNORECASE
)
GENERATE_NAME_LENGTH_MAX = 58
DISTANT_S = 172_800
"""Times farther away than this are data, not the server's clock."""
NOW_S = (-12, 5)
"""Offsets from the answer's date that count as now."""
ENTRY_ORDER = ("operation", "manager", "subresource", "apiVersion")


class Normaliser:
    """Normalises the answers of one case."""

    def __init__(self, steps: Sequence[Mapping[str, Any]], unique: str) -> None:
        self._literals = json.dumps(steps)
        self._unique = unique
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._list_versions: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._newest = -1
        self._now = datetime.datetime.now(datetime.UTC)
        self._list_version_form = "any"

    def body(self, value: Any, now: datetime.datetime, list_version: str = "any") -> Any:
        """A body in its normal form.

        `list_version`: "any" (only that it is not stale), "page" (numbered), or "object" (that of
        an object seen before).
        """
        self._now, self._list_version_form = now, list_version
        self._learn_names(value)
        return self._value(value, "")

    def header(self, text: str, now: datetime.datetime) -> str:
        self._now = now
        return self._text(text)

    def _learn_names(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._learn_names(item)
        elif isinstance(value, dict):
            if isinstance(meta := value.get("metadata"), dict) and meta.get("generateName"):
                self._learn_name(meta.get("name", ""), meta["generateName"])
            for key in ("items", "object", "rows"):
                self._learn_names(value.get(key))

    def _learn_name(self, name: str, generate_name: str) -> None:
        base = generate_name[:GENERATE_NAME_LENGTH_MAX]
        if name.startswith(base) and SUFFIX.fullmatch(name[len(base) :]):
            self._names.setdefault(name, f"{base}<suffix:{len(self._names) + 1}>")

    def _version(self, text: str) -> str:
        if text not in self._versions:
            mark = "" if int(text) > self._newest else "-older"
            self._newest = max(self._newest, int(text))
            self._versions[text] = f"<rv:{len(self._versions) + 1}{mark}>"
        return self._versions[text]

    def _list_version(self, text: str) -> str:
        if self._list_version_form == "any":
            return "<list-rv>" if int(text) >= self._newest else "<list-rv:stale>"
        if self._list_version_form == "object" and text in self._versions:
            return self._versions[text]
        return self._list_versions.setdefault(text, f"<list-rv:{len(self._list_versions) + 1}>")

    def _text(self, text: str) -> str:
        for name, placeholder in self._names.items():
            text = text.replace(name, placeholder)
        text = text.replace(self._unique, "{{u}}")
        text = TIME.sub(self._time, UUID.sub(self._uid, text))
        return VERSION_IN_TEXT.sub(self._version_in_text, text)

    def _uid(self, match: re.Match[str]) -> str:
        if match[0] in self._literals:
            return match[0]
        return self._uids.setdefault(match[0], f"<uid:{len(self._uids) + 1}>")

    def _time(self, match: re.Match[str]) -> str:
        moment = datetime.datetime.fromisoformat(match[0])
        offset_s = (moment - self._now).total_seconds()
        if abs(offset_s) > DISTANT_S or match[0] in self._literals:
            return match[0]
        is_now = NOW_S[0] < offset_s <= NOW_S[1]
        rounded_s = 0 if is_now else round(offset_s / 10) * 10
        return f"<{'micro' * bool(match[1])}time{f'{rounded_s:+d}s' if rounded_s else ''}>"

    def _version_in_text(self, match: re.Match[str]) -> str:
        number = match[2]
        known = self._versions.get(number)
        is_new = int(number) > 99 and number not in self._literals
        return match[1] + (known or ("<n>" if is_new else number))

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, list):
            return [self._value(item, "") for item in value]
        if isinstance(value, dict):
            return self._object(value)
        if not isinstance(value, str):
            return value
        if key == "continue" and value and value not in self._literals:
            return "<continue>"
        return self._text(value)

    def _object(self, value: Mapping[str, Any]) -> dict[str, Any]:
        kind = str(value.get("kind", ""))
        is_list = kind.endswith("List") or kind == "Table"
        is_bookmark = value.get("type") == "BOOKMARK"
        result: dict[str, Any] = {}
        for name, item in value.items():
            if name == "metadata" and isinstance(item, dict):
                result[name] = self._metadata(item, is_list=is_list)
            elif is_bookmark and name == "object" and isinstance(item, dict):
                result[name] = self._bookmark(item)
            elif name == "cells" and isinstance(item, list):
                result[name] = [self._cell(cell) for cell in item]
            else:
                result[self._text(name)] = self._value(item, name)
        return result

    def _cell(self, cell: Any) -> Any:
        is_age = isinstance(cell, str) and AGE.fullmatch(cell)
        return "<age>" if is_age else self._value(cell, "")

    def _bookmark(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The empty object of a bookmark is an object, but its version moves as that of a list
        does.
        """
        meta = dict(item.get("metadata") or {})
        version = meta.pop("resourceVersion", None)
        result = {
            name: self._value(part, name) for name, part in item.items() if name != "metadata"
        }
        result["metadata"] = self._metadata(meta, is_list=False)
        if version is not None:
            result["metadata"]["resourceVersion"] = self._list_version(version)
        return result

    def _metadata(self, meta: Mapping[str, Any], *, is_list: bool) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, item in meta.items():
            if name == "resourceVersion" and _is_version(item):
                result[name] = self._list_version(item) if is_list else self._version(item)
            elif name == "managedFields" and isinstance(item, list):
                entries = [self._value(entry, "") for entry in item]
                result[name] = sorted(entries, key=_entry_order)
            else:
                result[self._text(name)] = self._value(item, name)
        return result


def _is_version(item: object) -> bool:
    return isinstance(item, str) and item.isdigit() and item != "0"


def _entry_order(entry: Mapping[str, Any]) -> list[str]:
    return [str(entry.get(key)) for key in ENTRY_ORDER]
