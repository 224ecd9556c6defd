"""Server-side apply: who applied which fields, conflicts, and what an applier no longer wants.

Ownership is kept in metadata.managedFields in the fieldsV1 form (`f:` a field, `k:` a list item by its keys, `v:` a value of a
set). Only appliers are tracked; updates are not (see the package docstring).
"""

import copy
import json
from typing import Any

from harness.apiserver import patches, resources, schemas, statuses

Document = dict[str, Any]
Tree = dict[str, Any]
_UNOWNED = {
    "": {"apiVersion", "kind"},
    "metadata": {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "generateName",
    },
}


def apply(
    resource: resources.ResourceType,
    live: Document,
    applied: Document,
    *,
    manager: str,
    force: bool,
    now: str,
    subresource: str = "",
) -> Document:
    """The live document with the applied configuration; 409 with causes when another applier disagrees."""
    wanted = _fields(resource, applied, "")
    if not wanted.get("f:metadata"):
        wanted.pop("f:metadata", None)  # an empty map is nobody's
    entries = copy.deepcopy(live.get("metadata", {}).get("managedFields", []))
    mine, others = _split(entries, manager, subresource)
    _settle_conflicts(live, applied, wanted, others, force=force)
    result = patches.strategic_patch(resource, live, _without_identity(applied))
    dropped = _minus(mine, wanted)
    for entry in others:
        dropped = _minus(dropped, entry["fieldsV1"])
    result = copy.deepcopy(result)
    _remove(result, dropped)
    kept = [entry for entry in others if entry["fieldsV1"]]
    result.setdefault("metadata", {})["managedFields"] = [
        *kept,
        _entry(resource, wanted, manager=manager, now=now, subresource=subresource),
    ]
    return result


def _entry(
    resource: resources.ResourceType, fields: Tree, *, manager: str, now: str, subresource: str
) -> Document:
    entry = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": resource.api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return entry | ({"subresource": subresource} if subresource else {})


def _split(entries: list[Document], manager: str, subresource: str) -> tuple[Tree, list[Document]]:
    mine: Tree = {}
    others = []
    for entry in entries:
        same = entry.get("manager") == manager and entry.get("subresource", "") == subresource
        if same and entry.get("operation") == "Apply":
            mine = entry.get("fieldsV1", {})
        else:
            others.append(entry)
    return mine, others


def _settle_conflicts(
    live: Document, applied: Document, wanted: Tree, others: list[Document], *, force: bool
) -> None:
    causes = []
    for entry in others:
        for path in _leaves(entry["fieldsV1"]):
            if not _has(wanted, path) or _value(live, path) == _value(applied, path):
                continue
            if force:
                _prune(entry["fieldsV1"], path)
            else:
                causes.append((entry["manager"], path))
    if causes:
        raise _conflict(causes)


def _conflict(causes: list[tuple[str, tuple[str, ...]]]) -> statuses.StatusError:
    found = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{who}"',
            "field": _dotted(path),
        }
        for who, path in causes
    ]
    many = "s" if len(found) > 1 else ""
    texts = "\n".join(f"- {item['field']}" for item in found)
    who = causes[0][0]
    message = (
        f'Apply failed with {len(found)} conflict{many}: conflict{many} with "{who}"'
        f"{': ' + found[0]['field'] if len(found) == 1 else ':' + chr(10) + texts}"
    )
    return statuses.StatusError(409, "Conflict", message, {"causes": found})


def _dotted(path: tuple[str, ...]) -> str:
    text = ""
    for part in path:
        kind, _, name = part.partition(":")
        text += f".{name}" if kind == "f" else f"[{name.strip('{}')}]"
    return text


def _without_identity(applied: Document) -> Document:
    meta = {
        key: value
        for key, value in applied.get("metadata", {}).items()
        if key not in ("managedFields", "resourceVersion", "uid", "creationTimestamp")
    }
    return {**applied, "metadata": meta}


def _fields(resource: resources.ResourceType, value: Document, path: str) -> Tree:
    skipped = _UNOWNED.get(path, set())
    return {
        f"f:{key}": _field(resource, item, f"{path}.{key}" if path else key)
        for key, item in value.items()
        if key not in skipped and item is not None
    }


def _field(resource: resources.ResourceType, value: Any, path: str) -> Tree:
    if isinstance(value, dict):
        return _fields(resource, value, path)
    if isinstance(value, list):
        keys = schemas.merge_keys(resource, path)
        if keys is not None:
            return {_key(item, keys): {".": {}, **_fields(resource, item, path)} for item in value}
        if path in schemas.SETS:
            return {f"v:{json.dumps(item)}": {} for item in value}
    return {}


def _key(item: Any, keys: schemas.Keys) -> str:
    if not isinstance(item, dict):
        raise statuses.bad_request("expected an object in a list that merges by key")
    chosen = {key: item[key] for key in sorted(keys) if key in item}
    return "k:" + json.dumps(chosen, separators=(",", ":"))


def _leaves(tree: Tree, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for part, inner in tree.items():
        if part == ".":
            continue
        found += _leaves(inner, (*path, part)) if set(inner) - {"."} else [(*path, part)]
    return found


def _has(tree: Tree, path: tuple[str, ...]) -> bool:
    for part in path:
        if part not in tree:
            return False
        tree = tree[part]
    return True


def _prune(tree: Tree, path: tuple[str, ...]) -> None:
    if len(path) == 1:
        tree.pop(path[0], None)
    elif path[0] in tree:
        _prune(tree[path[0]], path[1:])
        if not set(tree[path[0]]) - {"."}:
            del tree[path[0]]


def _minus(tree: Tree, other: Tree) -> Tree:
    """The part of a tree whose leaves are not in the other."""
    result: Tree = {}
    for part, inner in tree.items():
        if part not in other:
            result[part] = inner
        elif set(inner) - {"."}:
            left = _minus(inner, other[part])
            if set(left) - {"."}:
                result[part] = left
    return result


def _value(document: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        document = _step(document, part)
        if document is None:
            return None
    return document


def _step(document: Any, part: str) -> Any:
    kind, _, name = part.partition(":")
    if kind == "f":
        return document.get(name) if isinstance(document, dict) else None
    if not isinstance(document, list):
        return None
    wanted = json.loads(name)
    if kind == "v":
        return wanted if wanted in document else None
    return next((item for item in document if _matches(item, wanted)), None)


def _matches(item: Any, wanted: dict[str, Any]) -> bool:
    return isinstance(item, dict) and all(item.get(key) == value for key, value in wanted.items())


def _remove(document: Any, tree: Tree) -> None:
    """Take the leaves of the tree out of the document, in place."""
    for part, inner in tree.items():
        if part == ".":
            continue
        whole = "." in inner or not inner
        if not whole:
            target = _step(document, part)
            if target is not None:
                _remove(target, inner)
            continue
        _remove_whole(document, part)


def _remove_whole(document: Any, part: str) -> None:
    kind, _, name = part.partition(":")
    if kind == "f":
        if isinstance(document, dict):
            document.pop(name, None)
        return
    found = _step(document, part)
    if found is not None:
        document.remove(found)
