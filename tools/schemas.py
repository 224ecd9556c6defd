"""Generate the embedded API server's schema data from Kubernetes' OpenAPI definitions.

    .venv/bin/python tools/schemas.py _definitions.json harness/apiserver/scheme

The input is a JSON document with the definitions of Kubernetes' swagger.json in "$defs", including
their x-kubernetes-* extensions. The package kubernetes-validate ships one for each release
(kubernetes_validate/kubernetes-json-schema/v1.36.0-local/_definitions.json). Definitions: Copyright
The Kubernetes Authors, Apache License 2.0.

The output is schemas.json.gz. The tables of go_types.py add facts that the definitions lack: the
fields that Go encodes even if they are unset (`x-go-always`) and those that are pointers
(`x-go-pointer`).
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
    """Return the group and the kind of a definition's name, without the version."""
    group, _, kind = name.rsplit(".", 2)
    return _GROUP_PREFIX.sub("", group), kind


_VALUE_STRUCTS = _table(go_types.VALUE_STRUCTS)
_NO_OMITEMPTY = _table(go_types.NO_OMITEMPTY)
_POINTERS = _table(go_types.POINTERS)
_OMITTED = _table(go_types.OMITTED)


def main(source: str, target: str) -> None:
    """Read the definitions in `source` and write the data file to the directory `target`."""
    definitions = json.loads(pathlib.Path(source).read_text())["$defs"]
    structure = {name: _definition(name, node) for name, node in definitions.items()}
    _write(pathlib.Path(target, "schemas.json.gz"), structure)


def _definition(name: str, node: Node) -> Node:
    definition = _shape(node)
    required = node.get("required", [])
    for field, child in node.get("properties", {}).items():
        shape = definition.setdefault("properties", {})[field] = _shape(child)
        key = (*_unversioned(name), field)
        is_struct = "$ref" in child
        by_convention = field in _VALUE_BY_CONVENTION and is_struct and key not in _POINTERS
        is_required = field in required and key not in _OMITTED
        is_value = is_required or by_convention or key in _VALUE_STRUCTS
        if is_value or key in _NO_OMITEMPTY:
            shape["x-go-always"] = True
        if key in _POINTERS or (is_struct and not is_value):
            shape["x-go-pointer"] = True
    return definition


def _shape(node: Node) -> Node:
    """Return a node without descriptions and without the JSON schema's added nulls and kinds."""
    shape = {key: node[key] for key in _KEPT if key in node}
    shape.update({key: value for key, value in node.items() if key.startswith("x-")})
    if isinstance(shape.get("type"), list):
        shape["type"] = shape["type"][0]
    if "$ref" in node:
        shape["$ref"] = node["$ref"].removeprefix(_REF)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            shape[key] = _shape(node[key])
    return shape


def _write(path: pathlib.Path, document: Node) -> None:
    data = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    print(f"{path}: {len(document)} definitions, {path.stat().st_size} bytes")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Generate the schema data of the embedded API server."
    )
    parser.add_argument("source", help="definitions of a Kubernetes release: _definitions.json")
    parser.add_argument("target", help="output directory: harness/apiserver/scheme")
    return parser.parse_args()


if __name__ == "__main__":
    main(**vars(_arguments()))
