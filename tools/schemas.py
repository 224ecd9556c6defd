"""Make the schema data of the embedded API server from the published OpenAPI definitions of
Kubernetes.

    .venv/bin/python tools/schemas.py _definitions.json harness/apiserver/scheme

The input is a JSON document whose "$defs" are the definitions of Kubernetes' swagger.json with
their x-kubernetes-* marks; the package kubernetes-validate ships one for each release
(kubernetes_validate/kubernetes-json-schema/v1.36.0-local/_definitions.json). Definitions: Copyright
The Kubernetes Authors, Apache License 2.0.

Written are schemas.json.gz (structure) and descriptions.json.gz (texts, for OpenAPI documents
only). Added are facts that the definitions lack (go_types.py): which fields Go encodes although
they are not set (`x-go-always`), and which are pointers (`x-go-pointer`).
"""

import argparse
import gzip
import json
import pathlib
import re
from typing import Any

import go_types

Node = dict[str, Any]

_REF = "#/$defs/"
_GROUP_PREFIX = re.compile(r"io\.k8s\.(api|(apimachinery|apiextensions-apiserver)\.pkg\.apis)\.")
_VALUE_BY_CONVENTION = ("metadata", "spec", "status")
_KEPT = ("type", "format", "required")


def _table(text: str) -> set[tuple[str, str, str]]:
    rows = (line.split() for line in text.strip().splitlines())
    return {(*_unversioned(name), field) for name, *fields in rows for field in fields}


def _unversioned(name: str) -> tuple[str, str]:
    """The group and the short name of a definition, whatever its version."""
    group, _, kind = name.rsplit(".", 2)
    return _GROUP_PREFIX.sub("", group), kind


_VALUE_STRUCTS = _table(go_types.VALUE_STRUCTS)
_NO_OMITEMPTY = _table(go_types.NO_OMITEMPTY)
_POINTERS = _table(go_types.POINTERS)
_OMITTED = _table(go_types.OMITTED)


def main(source: str, target: str) -> None:
    """Read the definitions at source, write the two data files into the folder target."""
    definitions = json.loads(pathlib.Path(source).read_text())["$defs"]
    structure = {name: _definition(name, node) for name, node in definitions.items()}
    _write(pathlib.Path(target, "schemas.json.gz"), structure)
    descriptions = {name: _descriptions(node) for name, node in definitions.items()}
    _write(pathlib.Path(target, "descriptions.json.gz"), descriptions)


def _definition(name: str, node: Node) -> Node:
    made = _shape(node)
    required = node.get("required", [])
    for field, child in node.get("properties", {}).items():
        shape = made.setdefault("properties", {})[field] = _shape(child)
        at = (*_unversioned(name), field)
        is_struct = "$ref" in child
        by_convention = field in _VALUE_BY_CONVENTION and is_struct and at not in _POINTERS
        needed = field in required and at not in _OMITTED
        value = needed or by_convention or at in _VALUE_STRUCTS
        if value or at in _NO_OMITEMPTY:
            shape["x-go-always"] = True
        if at in _POINTERS or (is_struct and not value):
            shape["x-go-pointer"] = True
    return made


def _shape(node: Node) -> Node:
    """A node without texts, without the nulls and the kinds that the JSON schema was enriched
    with.
    """
    made = {key: node[key] for key in _KEPT if key in node}
    made.update({key: value for key, value in node.items() if key.startswith("x-")})
    if isinstance(made.get("type"), list):
        made["type"] = made["type"][0]
    if "$ref" in node:
        made["$ref"] = node["$ref"].removeprefix(_REF)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            made[key] = _shape(node[key])
    return made


def _descriptions(node: Node) -> dict[str, str]:
    fields = {
        name: child["description"]
        for name, child in node.get("properties", {}).items()
        if "description" in child
    }
    return {"": node.get("description", ""), **fields}


def _write(path: pathlib.Path, document: Node) -> None:
    data = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    print(f"{path}: {len(document)} definitions, {path.stat().st_size} bytes")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the schema data of the embedded API server.")
    parser.add_argument("source", help="the definitions of a Kubernetes release: _definitions.json")
    parser.add_argument("target", help="the folder to write to: harness/apiserver/scheme")
    return parser.parse_args()


if __name__ == "__main__":
    main(**vars(_arguments()))
