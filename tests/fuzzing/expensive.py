"""Requests that look for what costs an API server much: small ones that grow, and large ones of
every kind.
"""

import dataclasses
import urllib.parse
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.apiserver.codec import protobuf_wire

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
DRA = "/apis/resource.k8s.io/v1"
CLAIMS = f"{DRA}/namespaces/default/resourceclaims"
TEMPLATES = f"{DRA}/namespaces/default/resourceclaimtemplates"
CLASSES = f"{DRA}/deviceclasses"
SLICES = f"{DRA}/resourceslices"
MIB = 1024 * 1024
BODY_BYTES = 3 * MIB - 1024
"""As large as a body may be."""
JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MANY = 1000
"""Objects that are there before."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Costly:
    """One request."""

    name: str
    method: str
    target: str
    body: bytes | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


def requests() -> Iterator[Costly]:
    """Yield all of them, in an order that does not matter; together they would fill the memory."""
    families = (
        json_patches,
        merge_patches,
        strategic_patches,
        applied,
        in_yaml,
        in_json,
        in_protobuf,
        selectors,
        in_cel,
        numbers,
        metadata,
        specs,
        heads,
        lists,
    )
    for family in families:
        yield from family()


def seeds() -> Iterator[tuple[str, Any]]:
    """Yield (collection, object) of what is there before."""
    yield CONFIGMAPS, of("ConfigMap", "small", data={"a": "x" * 100})
    yield CONFIGMAPS, of("ConfigMap", "wide", data={f"k{n}": "v" for n in range(5_000)})
    yield CONFIGMAPS, of("ConfigMap", "long", data={"a": "x" * 900_000})
    yield CLAIMS, claim("kept", [request()])
    yield SLICES, device_slice("kept", [device(n) for n in range(128)])
    yield PODS, pod("kept")
    for n in range(MANY):
        yield CONFIGMAPS, of("ConfigMap", f"many-{n}", data={"a": "x" * 200}, labels={"n": str(n)})


def of(
    kind: str, name: str, *, version: str = "v1", labels: Any = None, **parts: Any
) -> dict[str, Any]:
    meta = {"name": name} | ({"labels": labels} if labels else {})
    return {"kind": kind, "apiVersion": version, "metadata": meta, **parts}


def claim(name: str, asked: list[Any], **devices: Any) -> dict[str, Any]:
    spec = {"devices": {"requests": asked, **devices}}
    return of("ResourceClaim", name, version="resource.k8s.io/v1", spec=spec)


def request(name: str = "r", **exactly: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "c", **exactly}}


def device(number: int, attributes: int = 8) -> dict[str, Any]:
    named = {f"a{n}": {"string": f"v{n}"} for n in range(attributes)}
    return {"name": f"d{number}", "attributes": named, "capacity": {"m": {"value": "1Gi"}}}


def device_slice(name: str, devices: list[Any], **spec: Any) -> dict[str, Any]:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    whole = {"driver": "e.com", "nodeName": "n", "pool": pool, "devices": devices, **spec}
    return of("ResourceSlice", name, version="resource.k8s.io/v1", spec=whole)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return of("Pod", name, spec={"containers": [{"name": "m", "image": "i"}], **spec})


def create(name: str, collection: str, body: Any, media: str = JSON, query: str = "") -> Costly:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    headers = {"Content-Type": media}
    return Costly(
        name=name, method="POST", target=collection + query, body=data[:BODY_BYTES], headers=headers
    )


def patch(name: str, target: str, body: Any, media: str) -> Costly:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Costly(
        name=name,
        method="PATCH",
        target=f"{target}?fieldManager=m" + ("&force=true" if media == APPLY else ""),
        body=data[:BODY_BYTES],
        headers={"Content-Type": media},
    )


# ------------------------------------------------------------------ patches


def json_patches() -> Iterator[Costly]:
    """Yield JSON patches: copies that double, lists that are moved, values that are compared."""
    small, wide, long = (f"{CONFIGMAPS}/{name}" for name in ("small", "wide", "long"))

    def of_operations(name: str, target: str, operations: list[Any]) -> Costly:
        return patch(f"json patch: {name}", target, operations, JSON_PATCH)

    def copies(count: int, path: str = "/data") -> list[Any]:
        return [{"op": "copy", "from": path, "path": f"{path}/x{n}"} for n in range(count)]

    def adding(value: Any) -> dict[str, Any]:
        return {"op": "add", "path": "/x", "value": value}

    for count in (12, 16, 20, 24, 30, 60):
        yield of_operations(f"{count} doubling copies", small, copies(count))
    yield of_operations("copies of the document", small, [{"op": "copy", "from": "", "path": f"/x{n}"} for n in range(30)])  # fmt: skip
    yield of_operations("copies of a wide map", wide, copies(8))
    yield of_operations("copies of a long text", long, [{"op": "copy", "from": "/data/a", "path": f"/data/{n}"} for n in range(10_000)])  # fmt: skip
    yield of_operations("copies of a list of ones", small, [adding([1] * 100_000), *[{"op": "copy", "from": "/x", "path": "/x/0"}] * 100])  # fmt: skip
    yield of_operations("copies of empty objects", small, [adding([{}] * 300_000), *[{"op": "copy", "from": "/x", "path": "/y"}] * 3])  # fmt: skip
    for name in ("add", "remove", "move", "copy"):
        one = {"op": name, "path": "/x/0", "from": "/x/1", "value": 1}
        for size in (5_000, 100_000, 1_000_000):
            yield of_operations(f"{name} 9,999 times before {size}", small, [adding([1] * size), *[one] * 9_999])  # fmt: skip
    yield of_operations("10,001 operations", small, [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001)  # fmt: skip
    yield of_operations("10,000 operations", small, [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_000)  # fmt: skip
    yield of_operations("10,000 changes", small, [{"op": "add", "path": f"/data/k{n}", "value": "x"} for n in range(9_000)])  # fmt: skip
    yield of_operations("a million operations", small, [{}] * 900_000)
    yield of_operations("tests of a wide map", wide, [{"op": "test", "path": "/data", "value": {f"k{n}": "v" for n in range(5_000)}}] * 30)  # fmt: skip
    yield of_operations("a test that fails", long, [{"op": "test", "path": "/data", "value": 1}])
    yield of_operations("a path of a million parts", small, [{"op": "add", "path": "/a" * 1_000_000, "value": 1}])  # fmt: skip
    yield of_operations("a path of escapes", small, [{"op": "add", "path": "/" + "~1" * 1_000_000, "value": 1}])  # fmt: skip
    yield of_operations("a place of a million digits", small, [adding([]), {"op": "add", "path": "/x/" + "9" * 1_000_000, "value": 1}])  # fmt: skip
    yield of_operations("moves in a circle", small, [{"op": "move", "from": "/data", "path": "/x"}, {"op": "move", "from": "/x", "path": "/data"}] * 5_000)  # fmt: skip
    yield of_operations("a tower of additions", small, [{"op": "add", "path": "/x" * n, "value": {}} for n in range(1, 1000)])  # fmt: skip
    yield of_operations("a large value", small, [{"op": "add", "path": "/data/b", "value": "x" * 2_900_000}])  # fmt: skip
    yield of_operations("unknown members", small, [{"op": "test", "path": "/kind", "value": "ConfigMap", **{f"x{n}": 1 for n in range(100)}}] * 900)  # fmt: skip


def merge_patches() -> Iterator[Costly]:
    """Yield merge patches: deep, wide, of the wrong types."""
    for target in ("small", "wide", "long"):
        path = f"{CONFIGMAPS}/{target}"
        yield patch(f"merge patch of {target}: wide", path, {"data": {f"n{n}": "x" for n in range(200_000)}}, MERGE)  # fmt: skip
        yield patch(f"merge patch of {target}: nulls", path, {"data": {f"k{n}": None for n in range(150_000)}}, MERGE)  # fmt: skip
        yield patch(f"merge patch of {target}: annotations", path, {"metadata": {"annotations": {f"n{n}": "x" for n in range(20_000)}}}, MERGE)  # fmt: skip
    path = f"{CONFIGMAPS}/small"
    yield patch("merge patch: deep", path, nested(b'{"a":', b"1", b"}", 900), MERGE)
    yield patch("merge patch: deeper", path, nested(b'{"a":', b"1", b"}", 300_000), MERGE)
    yield patch("merge patch: unknown fields", path, {f"x{n}": {} for n in range(200_000)}, MERGE)
    yield patch("merge patch: duplicates", path, b'{"data":{' + b'"a":"1",' * 300_000 + b'"b":"1"}}', MERGE)  # fmt: skip
    yield patch("merge patch: wrong types", path, {"data": {f"x{n}": n for n in range(150_000)}}, MERGE)  # fmt: skip
    yield patch("merge patch: managed fields", path, {"metadata": {"managedFields": [entry(n) for n in range(10_000)]}}, MERGE)  # fmt: skip


def entry(number: int) -> dict[str, Any]:
    return {"manager": f"m{number}", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {f"f:k{number}": {}}}}  # fmt: skip


def strategic_patches() -> Iterator[Costly]:
    """Yield strategic merge patches: lists that merge cost the product of two lengths."""
    kept, reserved = f"{PODS}/kept", f"{CLAIMS}/kept/status"
    for count in (1_000, 3_000, 5_000, 20_000):
        items = [{"name": f"c{n}", "image": "i"} for n in range(count)]
        order = [{"name": item["name"]} for item in items]
        yield patch(f"strategic: {count} containers", kept, {"spec": {"containers": items}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: order of {count}", kept, {"spec": {"$setElementOrder/containers": order, "containers": items}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: order of {count} backwards", kept, {"spec": {"$setElementOrder/containers": order[::-1], "containers": items}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: {count} deletions", kept, {"spec": {"containers": [{"$patch": "delete", **item} for item in items]}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: {count} tolerations", kept, {"spec": {"tolerations": [{"key": f"k{n}", "operator": "Exists"} for n in range(count)]}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: {count} finalizers", kept, {"metadata": {"finalizers": [f"e.com/f{n}" for n in range(count)]}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: {count} finalizers deleted", kept, {"metadata": {"finalizers": ["a"], "$deleteFromPrimitiveList/finalizers": [f"e.com/f{n}" for n in range(count)]}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: {count} reservations", reserved, {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": f"u{n}"} for n in range(count)]}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: {count} conditions", f"{PODS}/kept/status", {"status": {"conditions": [{"type": f"T{n}", "status": "True"} for n in range(count)]}}, STRATEGIC)  # fmt: skip
        yield patch(f"strategic: {count} owners", kept, {"metadata": {"ownerReferences": [{"uid": f"u{n}", "kind": "Pod", "apiVersion": "v1", "name": "x"} for n in range(count)]}}, STRATEGIC)  # fmt: skip
    yield patch("strategic: retained keys", f"{CONFIGMAPS}/wide", {"data": {"$retainKeys": [f"x{n}" for n in range(150_000)]}}, STRATEGIC)  # fmt: skip
    yield patch("strategic: deep", kept, nested(b'{"spec":', b"{}", b"}", 900), STRATEGIC)
    yield patch("strategic: items without keys", kept, {"spec": {"containers": [{"image": "x" * 100}] * 10_000}}, STRATEGIC)  # fmt: skip


def applied() -> Iterator[Costly]:
    wide = {f"k{n}": "v" for n in range(2_900)}
    for count in (2_900, 30_000, 150_000):
        keys = {f"k{n}": "w" for n in range(count)}
        for name in ("new", "wide"):
            document = of("ConfigMap", name, data=keys)
            yield patch(f"apply: {count} keys to {name}", f"{CONFIGMAPS}/{name}", document, APPLY)
    yield patch("apply: again", f"{CONFIGMAPS}/new", of("ConfigMap", "new", data=wide), APPLY)
    yield patch("apply: less", f"{CONFIGMAPS}/new", of("ConfigMap", "new", data={}), APPLY)
    for count in (100, 220, 700, 750, 1_000, 10_000):
        containers = [{"name": f"c{n}", "image": "i", "env": [{"name": f"e{m}", "value": "1"} for m in range(3)]} for n in range(count)]  # fmt: skip
        yield patch(f"apply: {count} containers", f"{PODS}/new", pod("new", containers=containers), APPLY)  # fmt: skip
        yield patch(f"apply: {count} containers at once", f"{PODS}/new-{count}", pod(f"new-{count}", containers=containers), APPLY)  # fmt: skip
        others = [{**item, "name": f"x{item['name']}"} for item in containers]
        yield patch(f"apply: {count} other containers", f"{PODS}/new-{count}", pod(f"new-{count}", containers=others), APPLY)  # fmt: skip
        same = [{"name": "c", "image": "i"}] * count
        yield patch(f"apply: {count} times one container", f"{PODS}/new", pod("new", containers=same), APPLY)  # fmt: skip
    devices = [device(n, 30) for n in range(128)]
    yield patch("apply: 128 devices", f"{SLICES}/new", device_slice("new", devices), APPLY)
    yield patch("apply: wrong types", f"{CONFIGMAPS}/new", of("ConfigMap", "new", data={f"k{n}": n for n in range(100_000)}), APPLY)  # fmt: skip
    yield patch("apply: unknown fields", f"{CONFIGMAPS}/new", of("ConfigMap", "new", **{f"k{n}": n for n in range(100_000)}), APPLY)  # fmt: skip
    yield patch("apply: YAML", f"{CONFIGMAPS}/new", b"a: 1\n" * 600_000, APPLY)
    yield patch("apply: YAML brackets", f"{CONFIGMAPS}/new", b"[" * 20_000, APPLY)
    yield patch("apply: damaged JSON", f"{CONFIGMAPS}/new", b'{"a":[' + b"1," * 1_000_000, APPLY)


def nested(start: bytes, middle: bytes, end: bytes, depth: int) -> bytes:
    return start * depth + middle + end * depth


# ------------------------------------------------------------------ bodies


def in_yaml() -> Iterator[Costly]:
    """Yield YAML: many values, deep ones, aliases, numbers, directives."""
    bomb = b"a0: &a0 x\n" + b"".join(b"a%d: &a%d [%b]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12))  # fmt: skip
    keys = b"{" + b", ".join(b"k%d: 1" % n for n in range(3_000)) + b"}"
    values = {
        "300 kB of a: 1": b"a: 1\n" * 60_000,
        "3 MB of a: 1": b"a: 1\n" * 600_000,
        "different keys": b"".join(b"k%d: v\n" % n for n in range(4_990)),
        "as much as is read": b"kind: ConfigMap\ndata:\n" + b"".join(b"  k%d: v\n" % n for n in range(4_990)),
        "brackets": b"[" * 20_000,
        "braces": b"{a: " * 200_000,
        "dashes": b"- " * 200_000,
        "question marks": b"? " * 200_000,
        "aliases": bomb,
        "itself": b"a: &a [*a]",
        "merges": b"a: &a " + keys + b"\nb:\n  <<: [" + b"*a, " * 3_000 + b"*a]\n",
        "nested merges": b"a0: &a0 {x: 1}\n" + b"".join(b"a%d: &a%d {<<: [*a%d, *a%d], k%d: 1}\n" % (n, n, n - 1, n - 1, n) for n in range(1, 40)),
        "a number of base 60": b"a: " + b"1:" * 500_000 + b"1",
        "a tagged number": b"a: !!int " + b"1:" * 500_000 + b"1",
        "a float of base 60": b"a: " + b"1:" * 300_000 + b"1.5",
        "many numbers": b"[" + (b"1:" * 32 + b"1,") * 9_000 + b"]",
        "a binary number": b"a: 0b" + b"1" * 2_000_000,
        "digits": b"a: " + b"9" * 1_000_000,
        "exponents": b"[" + b"1e1000000," * 9_000 + b"]",
        "directives": b"".join(b"%%TAG !a%d! b\n" % n for n in range(60_000)) + b"---\na: 1",
        "documents": b"---\n" * 250_000,
        "empty lines": b"\n" * 1_000_000,
        "comments": b"#\n" * 500_000,
        "a quoted text": b'a: "' + b"\\n" * 500_000 + b'"',
        "a folded text": b"a: >\n" + b"  x\n" * 250_000,
        "a plain text": b"a: x\n" + b"  x\n" * 250_000,
        "spaces": b"a:" + b" " * 1_000_000 + b"1",
        "a long tag": b"a: !<" + b"x" * 1_000_000 + b"> 1",
        "a long anchor": b"a: &" + b"x" * 1_000_000 + b" 1",
        "many anchors": b"[" + b"".join(b"&a%d 1, " % n for n in range(9_000)) + b"]",
        "UTF-16": ("a: 1\n" * 100_000).encode("utf-16"),
        "binary": b"a: !!binary " + b"QUFB" * 250_000,
        "a set": b"a: !!set {" + b", ".join(b"k%d" % n for n in range(4_000)) + b"}",
        "pairs": b"a: !!pairs [" + b"k: 1, " * 3_000 + b"]",
    }  # fmt: skip
    for name, body in values.items():
        yield create(f"yaml: {name}", CONFIGMAPS, body, YAML)


def in_json() -> Iterator[Costly]:
    """Yield JSON: deep, wide, damaged, with duplicates."""
    start = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},'
    values = {
        "deep lists": nested(b"[", b"", b"]", 1_000_000),
        "deep objects": nested(b'{"a":', b"1", b"}", 400_000),
        "900 deep": start + b'"x":' + nested(b"[", b"", b"]", 900) + b"}",
        "900 deep, often": start + b'"x":[' + b",".join([nested(b"[", b"", b"]", 900)] * 1_500) + b"]}",
        "900 deep, often, damaged": start + b'"x":[' + b",".join([nested(b"[", b"", b"]", 900)] * 1_500) + b"?]}",
        "unclosed lists": b"[" * 3_000_000,
        "unclosed texts": start + b'"' * 3_000_000,
        "a million zeros": start + b'"x":[' + b"0," * 1_400_000 + b"0]}",
        "zeros where a map belongs": start + b'"data":[' + b"0," * 1_400_000 + b"0]}",
        "a million empty objects": start + b'"x":[' + b"{}," * 900_000 + b"0]}",
        "a million empty texts": start + b'"x":[' + b'"",' * 900_000 + b"0]}",
        "zeros without end": start + b'"x":[' + b"0," * 1_400_000,
        "duplicate keys": start + b'"data":{' + b'"a":"",' * 400_000 + b'"b":""}}',
        "different keys": start + b'"data":{' + b",".join(b'"k%d":""' % n for n in range(200_000)) + b"}}",
        "unknown fields": start + b",".join(b'"k%d":1' % n for n in range(200_000)) + b"}",
        "numbers where texts belong": start + b'"data":{' + b",".join(b'"k%d":1' % n for n in range(200_000)) + b"}}",
        "nulls where texts belong": start + b'"data":{' + b",".join(b'"k%d":null' % n for n in range(180_000)) + b"}}",
        "keys that are wrong": start + b'"data":{' + b",".join(b'"!%d":""' % n for n in range(200_000)) + b"}}",
        "escapes": start + b'"data":{"a":"' + b"\\u0041" * 500_000 + b'"}}',
        "surrogates": start + b'"data":{"a":"' + b"\\ud800" * 480_000 + b'"}}',
        "a text of backslashes": start + b'"data":{"a":"' + b"\\\\" * 1_400_000 + b'"}}',
        "backslashes, damaged": start + b'"data":{"a":"' + b"\\\\" * 1_400_000 + b'"}]',
        "a long text": start + b'"data":{"a":"' + b"x" * 1_000_000 + b'"}}',
        "a too long text": start + b'"data":{"a":"' + b"x" * 2_900_000 + b'"}}',
        "a text that is no text": start + b'"data":{"a":"' + b"\xff" * 2_900_000 + b'"}}',
        "spaces": b" " * 3_000_000,
        "spaces inside": start + b" " * 3_000_000 + b"}",
        "digits": start + b'"x":' + b"9" * 2_900_000 + b"}",
        "digits of a float": start + b'"x":0.' + b"9" * 2_900_000 + b"}",
        "floats": start + b'"x":[' + b"1.7976931348623157e308," * 120_000 + b"0]}",
        "an exponent": start + b'"x":1e' + b"9" * 2_900_000 + b"}",
        "zeros": b"\0" * 3_000_000,
        "colons": start + b'"data":{"a":"' + b":" * 2_900_000 + b'"}}',
        "quotes and colons": start + b'"data":{"a":"' + b'\\":' * 900_000 + b'"}}',
        "duplicates in a long text": start + b'"data":{"a":"' + b'\\":' * 900_000 + b'","a":""}}',
        "base 64": b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"},"data":{"a":"' + b"QUFB" * 250_000 + b'"}}',
        "base 64 that is wrong": b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"},"data":{"a":"' + b"QUFB" * 700_000 + b'!"}}',
    }  # fmt: skip
    for name, body in values.items():
        collection = SECRETS if b'"Secret"' in body[:20] else CONFIGMAPS
        yield create(f"json: {name}", collection, body)
        if name in ("duplicate keys", "unknown fields", "a million zeros", "900 deep, often"):
            yield create(f"json, strict: {name}", collection, body, query="?fieldValidation=Strict")
    yield Costly(name="deletion: wide options", method="DELETE", target=f"{CONFIGMAPS}/none", body=b'{"kind":"DeleteOptions",' + b",".join(b'"k%d":1' % n for n in range(200_000)) + b"}")  # fmt: skip


def in_protobuf() -> Iterator[Costly]:
    """Yield messages: nested, with lengths that are lies, with many fields."""

    def enveloped(message: bytes, kind: str = "ConfigMap", version: str = "v1") -> bytes:
        named = protobuf_wire.text(1, version) + protobuf_wire.text(2, kind)
        return b"k8s\0" + protobuf_wire.data(1, named) + protobuf_wire.data(2, message)

    def nested_message(number: int, depth: int) -> bytes:
        message = b""
        for _ in range(depth):
            message = protobuf_wire.data(number, message)
        return message

    claim_version = "resource.k8s.io/v1"
    groups = b"".join([protobuf_wire.varint(13 << 3 | 3)] * 1_000_000)
    entry_ = protobuf_wire.text(1, "k") + protobuf_wire.text(2, "v")
    entries = b"".join(protobuf_wire.data(2, protobuf_wire.text(1, f"k{n}") + protobuf_wire.text(2, "v")) for n in range(150_000))  # fmt: skip
    values: dict[str, tuple[str, bytes]] = {
        "unknown fields": (CONFIGMAPS, enveloped(protobuf_wire.integer(99, 1) * 900_000)),
        "empty unknown fields": (CONFIGMAPS, enveloped(protobuf_wire.data(99, b"") * 900_000)),
        "a huge length": (CONFIGMAPS, b"k8s\0\x12" + protobuf_wire.varint(2**62)),
        "a huge length inside": (CONFIGMAPS, enveloped(b"\x12" + protobuf_wire.varint(2**31))),
        "groups": (CONFIGMAPS, enveloped(groups)),
        "closed groups": (CONFIGMAPS, enveloped((protobuf_wire.varint(13 << 3 | 3) + protobuf_wire.varint(13 << 3 | 4)) * 700_000)),
        "nested messages": (CONFIGMAPS, enveloped(nested_message(1, 900))),
        "nested deeper": (CONFIGMAPS, enveloped(nested_message(1, 1_000))),
        "one entry often": (CONFIGMAPS, enveloped(protobuf_wire.data(2, entry_) * 300_000)),
        "many entries": (CONFIGMAPS, enveloped(entries)),
        "empty entries": (CONFIGMAPS, enveloped(protobuf_wire.data(2, b"") * 1_400_000)),
        "metadata often": (CONFIGMAPS, enveloped(protobuf_wire.data(1, protobuf_wire.text(1, "x")) * 500_000)),
        "empty items": (CLAIMS, enveloped(protobuf_wire.data(2, protobuf_wire.data(1, protobuf_wire.data(1, b"") * 1_000_000)), "ResourceClaim", claim_version)),
        "envelopes often": (CONFIGMAPS, b"k8s\0" + protobuf_wire.data(2, b"") * 1_400_000),
        "varints without end": (CONFIGMAPS, enveloped(b"\xff" * 3_000_000)),
        "a long name": (CONFIGMAPS, enveloped(protobuf_wire.data(1, protobuf_wire.text(1, "x" * 2_900_000)))),
        "a long kind": (CONFIGMAPS, enveloped(b"", "x" * 2_900_000)),
        "containers": (PODS, enveloped(protobuf_wire.data(2, protobuf_wire.data(2, protobuf_wire.text(1, "c")) * 400_000), "Pod")),
        "devices": (SLICES, enveloped(protobuf_wire.data(2, protobuf_wire.data(6, protobuf_wire.text(1, "d")) * 400_000), "ResourceSlice", claim_version)),
        "nothing": (CONFIGMAPS, b"k8s\0"),
    }  # fmt: skip
    for name, (collection, body) in values.items():
        yield create(f"protobuf: {name}", collection, body, PROTOBUF)


# ------------------------------------------------------------------ queries


def get(name: str, target: str, **query: str) -> Costly:
    text = urllib.parse.urlencode(query, safe="=,()!/")
    return Costly(name=name, method="GET", target=f"{target}?{text}" if text else target)


def selectors() -> Iterator[Costly]:
    size = 60_000
    labels = {
        "many terms": ",".join(f"k{n}=v" for n in range(6_000)),
        "many missing": ",".join(f"!k{n}" for n in range(6_000)),
        "many different": ",".join(f"k{n}!=v" for n in range(5_000)),
        "many values": f"n in ({','.join(str(n) for n in range(9_000))})",
        "many empty values": f"n in ({',' * size})",
        "a long key": "k" * size,
        "a long prefix": "a." * (size // 2) + "/k",
        "a long value": "k=" + "v" * size,
        "commas": "," * size,
        "brackets": "(" * size,
        "bangs": "!" * size,
        "spaces": "a" + " " * (size // 3) + "=b",
        "large numbers": ",".join(f"n>{'9' * 60}" for _ in range(800)),
        "a huge number": "n>" + "9" * size,
    }
    for name, text in labels.items():
        yield get(f"labels: {name}", CONFIGMAPS, labelSelector=text)
    for name in ("many terms", "many missing", "many different"):
        yield Costly(name=f"deletecollection: {name}", method="DELETE", target=f"{CONFIGMAPS}?dryRun=All&" + urllib.parse.urlencode({"labelSelector": labels[name] + ",none"}, safe="=,()!"))  # fmt: skip
    fields = {
        "many terms": ",".join("metadata.name!=x" for _ in range(3_500)),
        "a long value": "metadata.name=" + "x" * size,
        "commas": "," * size,
        "backslashes": "metadata.name=" + "\\" * (size // 3),
        "unknown": "x" * size + "=1",
        "equals": "=" * size,
    }
    for name, text in fields.items():
        yield get(f"fields: {name}", CONFIGMAPS, fieldSelector=text)


def in_cel() -> Iterator[Costly]:
    """Yield CEL: deep, long, costly to compile, to check and to estimate."""
    size = 10 * 1024
    calls = "device.attributes['e.com'].a"
    expressions = {
        "parentheses": "(" * 5_000 + "true" + ")" * 5_000,
        "few parentheses": "(" * 240 + "true" + ")" * 240,
        "negations": "!" * (size - 4) + "true",
        "few negations": "!" * 200 + "true",
        "minuses": "-" * (size - 4) + "1 == 1",
        "ands": "&&".join(["true"] * (size // 6)),
        "sums": "+".join(["1"] * (size // 2 - 5)) + "==1",
        "texts": "+".join(["'a'"] * (size // 4 - 10)) + "==''",
        "lists": "[" * 200 + "]" * 200 + "==[]",
        "a long list": "[" + "1," * (size // 2 - 10) + "1]==[]",
        "a long map": "{" + ",".join(f"{n}:1" for n in range(1_200)) + "}=={}",
        "ternaries": "true?" * 1_000 + "true" + ":true" * 1_000,
        "comprehensions": "[1].all(a," * 60 + "true" + ")" * 60,
        "comprehensions of comprehensions": "[1,2,3].all(a,[1,2,3].all(b," * 15 + "true" + "))" * 15,
        "maps": "[1]" + ".map(x,x)" * 800 + "==[]",
        "filters of devices": calls + ".all(x,x.all(y,y.all(z,true)))",
        "selections": "device" + ".attributes" * 800 + "==1",
        "indexes": "device.attributes" + "['a']" * 1_500 + "==1",
        "a regular expression": "'a'.matches('" + "(a*)*" * 1_000 + "')",
        "a wrong regular expression": "'a'.matches('" + "(" * 5_000 + "')",
        "a counted regular expression": "'a'.matches('((a{1000}){1000}){1000}')",
        "a long text": "'" + "a" * (size - 10) + "'==''",
        "a long name": "a" * size,
        "quotes": "'" * size,
        "a comment": "true//" + "x" * 10_000,
        "spaces": " " * (size - 4) + "true",
        "bindings": "cel.bind(a,1," * 100 + "true" + ")" * 100,
        "quantities": "quantity('" + "9" * 10_000 + "').isInteger()",
        "versions": "semver('" + "1." * 5_000 + "').major()==1",
    }  # fmt: skip
    for name, text in expressions.items():
        yield create(f"cel: {name}", CLASSES, device_class([text]))
    for count, long in ((32, 300), (32, 10_000), (1_000, 100), (30_000, 10)):
        texts = [f"{n}!=1&&" + "&&".join(["true"] * (long // 6)) for n in range(count)]
        yield create(f"cel: {count} selectors of {long}", CLASSES, device_class(texts))
    cels = [{"cel": {"expression": f"{n}==1||" + "||".join(["device.driver=='x'"] * 500)}} for n in range(1_024)]  # fmt: skip
    asked = [request(f"r{n}", selectors=cels[n * 32 : n * 32 + 32]) for n in range(32)]
    yield create("cel: 1,024 long selectors of a claim", CLAIMS, claim("x", asked))
    short = [{"cel": {"expression": f"{n}==1"}} for n in range(1_024)]
    asked = [request(f"r{n}", selectors=short[n * 32 : n * 32 + 32]) for n in range(32)]
    yield create("cel: 1,024 short selectors of a claim", CLAIMS, claim("x", asked))


def device_class(texts: list[str]) -> dict[str, Any]:
    spec = {"selectors": [{"cel": {"expression": text}} for text in texts]}
    return of("DeviceClass", "x", version="resource.k8s.io/v1", spec=spec)


# ------------------------------------------------------------------ values


def numbers() -> Iterator[Costly]:
    texts = {
        "1e1000000": "1e1000000",
        "1e-1000000": "1e-1000000",
        "1e999999999": "1e999999999",
        "1e-999999999": "1e-999999999",
        "an exponent of a thousand digits": "1e" + "9" * 1_000,
        "a million digits": "9" * 1_000_000,
        "a million digits of a fraction": "0." + "9" * 1_000_000,
        "a million zeros": "0" * 1_000_000 + "1",
        "a million digits of Ki": "9" * 1_000_000 + "Ki",
        "4,000 digits of Ei": "9" * 4_000 + "Ei",
        "a suffix of a million letters": "1" + "k" * 1_000_000,
        "signs": "+" * 1_000_000,
    }
    for name, text in texts.items():
        capacity = {"name": "d", "capacity": {"m": {"value": text}}}
        yield create(f"quantity of a device: {name}", SLICES, device_slice("x", [capacity]))
        limits = {"name": "m", "image": "i", "resources": {"limits": {"cpu": text}, "requests": {"cpu": "1"}}}  # fmt: skip
        yield create(f"quantity of a pod: {name}", PODS, pod("x", containers=[limits]))
    exponents = [{"name": f"d{n}", "capacity": {f"m{m}": {"value": f"1e{1000 + n * 100 + m}"} for m in range(32)}} for n in range(128)]  # fmt: skip
    yield create("quantities: 4,096 different", SLICES, device_slice("x", exponents))
    grace = Costly(name="a grace period of a million digits", method="DELETE", target=f"{PODS}/kept?dryRun=All", body=b'{"gracePeriodSeconds":' + b"9" * 1_000_000 + b"}")  # fmt: skip
    yield grace
    yield create("time: a million digits", LEASES, of("Lease", "x", version="coordination.k8s.io/v1", spec={"renewTime": "2026-01-01T00:00:00." + "9" * 1_000_000 + "Z"}))  # fmt: skip
    yield create("version: a million digits", SLICES, device_slice("x", [{"name": "d", "attributes": {"a": {"version": "1." * 500_000}}}]))  # fmt: skip


def metadata() -> Iterator[Costly]:
    def with_meta(what: str, /, **meta: Any) -> Costly:
        document = of("ConfigMap", "x")
        document["metadata"] |= meta
        return create(f"metadata: {what}", CONFIGMAPS, document)

    yield with_meta("a name of a million letters", name="x" * 1_000_000)
    yield with_meta("a name of a million dots", name="." * 1_000_000)
    yield with_meta("a name of a million dashes", name="a" + "-" * 1_000_000)
    yield with_meta("a generated name", generateName="x-" * 500_000)
    yield with_meta("labels", labels={f"k{n}": "v" for n in range(150_000)})
    yield with_meta("wrong labels", labels={f"!{n}": "!" for n in range(150_000)})
    yield with_meta("a long label", labels={"k" * 1_000_000: "v" * 1_000_000})
    yield with_meta("a label of dots", labels={"a." * 500_000 + "/a": "v"})
    yield with_meta("annotations", annotations={f"k{n}": "v" for n in range(150_000)})
    yield with_meta("long annotations", annotations={f"k{n}": "v" * 100_000 for n in range(28)})
    yield with_meta("finalizers", finalizers=[f"e.com/f{n}" for n in range(150_000)])
    yield with_meta("wrong finalizers", finalizers=["!"] * 500_000)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}
    yield with_meta("owners", ownerReferences=[{**owner, "uid": f"u{n}"} for n in range(40_000)])
    yield with_meta("controllers", ownerReferences=[{**owner, "controller": True}] * 1_000)
    yield with_meta("many controllers", ownerReferences=[{**owner, "controller": True}] * 40_000)
    yield with_meta("managers", managedFields=[entry(n) for n in range(15_000)])
    deep: Any = {}
    for _ in range(400):
        deep = {"f:a": deep}
    yield with_meta("deep managed fields", managedFields=[{**entry(n), "fieldsV1": deep} for n in range(500)])  # fmt: skip
    keys = {f'k:{{"a":"{n}"}}': {".": {}} for n in range(50_000)}
    yield with_meta("keys of managed fields", managedFields=[{**entry(1), "fieldsV1": {"f:x": keys}}])  # fmt: skip


def specs() -> Iterator[Costly]:
    for count in (128, 1_000, 30_000):
        yield create(f"slice: {count} devices", SLICES, device_slice("x", [device(n, 2) for n in range(count)]))  # fmt: skip
        yield create(f"slice: {count} times one device", SLICES, device_slice("x", [{"name": "d"}] * count))  # fmt: skip
        yield create(f"slice: {count} wrong devices", SLICES, device_slice("x", [{"name": "!", "attributes": {"!": {}}}] * count))  # fmt: skip
        taints = [{"key": f"k{n}", "effect": "No"} for n in range(count)]
        yield create(f"slice: {count} taints", SLICES, device_slice("x", [{"name": "d", "taints": taints}]))  # fmt: skip
        asked = [request(f"r{n}") for n in range(count)]
        yield create(f"claim: {count} requests", CLAIMS, claim("x", asked))
        tolerations = [{"key": f"k{n}", "operator": "No"} for n in range(count)]
        yield create(f"claim: {count} tolerations", CLAIMS, claim("x", [request(tolerations=tolerations)]))  # fmt: skip
        constraints = [{"requests": [f"x{m}" for m in range(10)], "matchAttribute": "!"}] * count
        yield create(f"claim: {count} constraints", CLAIMS, claim("x", [request()], constraints=constraints))  # fmt: skip
        alternatives = [{"name": f"s{n}", "deviceClassName": "!"} for n in range(count)]
        yield create(f"claim: {count} alternatives", CLAIMS, claim("x", [{"name": "r", "firstAvailable": alternatives}]))  # fmt: skip
        containers = [{"name": f"c{n}", "image": "i"} for n in range(count)]
        yield create(f"pod: {count} containers", PODS, pod("x", containers=containers))
        yield create(f"pod: {count} times one container", PODS, pod("x", containers=[{"name": "c"}] * count))  # fmt: skip
        volumes = [{"name": f"v{n}", "emptyDir": {}} for n in range(count)]
        mounts = [{"name": f"v{n}", "mountPath": f"/{n}"} for n in range(count)]
        yield create(f"pod: {count} mounts", PODS, pod("x", volumes=volumes, containers=[{"name": "c", "image": "i", "volumeMounts": mounts}]))  # fmt: skip
        env = [{"name": f"E{n}", "value": "$(E)" * 3} for n in range(count)]
        yield create(f"pod: {count} variables", PODS, pod("x", containers=[{"name": "c", "image": "i", "env": env}]))  # fmt: skip
        ports = [{"containerPort": 80, "hostPort": 80}] * count
        yield create(f"pod: {count} ports", PODS, pod("x", containers=[{"name": "c", "image": "i", "ports": ports}]))  # fmt: skip
        yield create(f"pod: {count} tolerations", PODS, pod("x", tolerations=[{"key": "!", "operator": "No"}] * count))  # fmt: skip
        terms = [{"matchExpressions": [{"key": "!", "operator": "In", "values": ["!"] * 5}]}] * count  # fmt: skip
        yield create(f"pod: {count} terms of affinity", PODS, pod("x", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}))  # fmt: skip
        claims = [{"name": f"c{n}", "resourceClaimName": "x"} for n in range(count)]
        yield create(f"pod: {count} claims", PODS, pod("x", resourceClaims=claims))
        yield create(f"node: {count} taints", NODES, of("Node", "x", spec={"taints": [{"key": f"k{n}", "effect": "No"} for n in range(count)]}))  # fmt: skip
    results = [{"request": f"r{n}", "driver": "!", "pool": "p", "device": f"d{n}"} for n in range(30_000)]  # fmt: skip
    status = {"status": {"allocation": {"devices": {"results": results}}}}
    yield patch("claim: 30,000 results", f"{CLAIMS}/kept/status", status, MERGE)
    users = [{"resource": "!", "name": "!", "uid": "u"} for n in range(30_000)]
    yield patch("claim: 30,000 users", f"{CLAIMS}/kept/status", {"status": {"reservedFor": users}}, MERGE)  # fmt: skip
    reports = [{"driver": "!", "pool": "p", "device": f"d{n}"} for n in range(30_000)]
    yield patch("claim: 30,000 reports", f"{CLAIMS}/kept/status", {"status": {"devices": reports}}, MERGE)  # fmt: skip
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    config = [{"opaque": {"driver": "e.com", "parameters": deep}}] * 500
    yield create("claim: deep parameters", CLAIMS, claim("x", [request()], config=config))
    large = [{"opaque": {"driver": "e.com", "parameters": {"a": [1] * 1_000_000}}}]
    yield create("claim: large parameters", CLAIMS, claim("x", [request()], config=large))


# ------------------------------------------------------------------ heads and lists


def heads() -> Iterator[Costly]:
    """Yield heads: many headers, long ones, long paths and queries."""

    def with_headers(name: str, headers: dict[str, str]) -> Costly:
        return Costly(name=f"head: {name}", method="GET", target=f"{CONFIGMAPS}/small", headers=headers)  # fmt: skip

    yield with_headers("1,000 headers", {f"X-{n}": "y" * 40 for n in range(1_000)})
    yield with_headers("5,000 headers", {f"X-{n}": "y" for n in range(5_000)})
    yield with_headers("a long header", {"X": "y" * 60_000})
    yield with_headers("a too long header", {"X": "y" * 600_000})
    yield with_headers("accepts", {"Accept": ",".join(["application/json;as=Table"] * 2_000)})
    yield with_headers("parameters of accepts", {"Accept": "application/json" + ";q=0" * 12_000})
    yield with_headers("commas", {"Accept": "," * 60_000})
    yield with_headers("semicolons", {"Accept": ";" * 60_000})
    yield get("path: many parts", "/api/v1/" + "a/" * 28_000)
    yield get("path: many escapes", "/api/v1/" + "%2f" * 19_000)
    yield get("path: a long name", f"{CONFIGMAPS}/{'x' * 60_000}")
    yield get("query: many", f"{CONFIGMAPS}/small?" + "&".join(f"k{n}=v" for n in range(8_000)))
    yield get("query: escapes", f"{CONFIGMAPS}/small?a=" + "%41" * 19_000)
    yield get("query: ampersands", f"{CONFIGMAPS}/small?" + "&" * 60_000)
    yield get("query: a huge limit", CONFIGMAPS, limit="9" * 50_000)
    yield get("query: a huge version", CONFIGMAPS, resourceVersion="9" * 50_000)
    yield get("query: a wrong token", CONFIGMAPS, **{"continue": "A" * 60_000})
    yield get("watch: a huge timeout", CONFIGMAPS, watch="1", timeoutSeconds="9" * 5_000)


def lists() -> Iterator[Costly]:
    forms = {
        "json": JSON,
        "yaml": YAML,
        "protobuf": PROTOBUF,
        "table": TABLE,
        "partial": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    }
    for form, accept in forms.items():
        headers = {"Accept": accept}
        yield Costly(name=f"list as {form}", method="GET", target=CONFIGMAPS, headers=headers)
        for name in ("wide", "long"):
            single = accept.replace("MetadataList", "Metadata")
            yield Costly(name=f"get {name} as {form}", method="GET", target=f"{CONFIGMAPS}/{name}", headers={"Accept": single})  # fmt: skip
    yield Costly(name="list, pretty", method="GET", target=f"{CONFIGMAPS}?pretty=true")
    yield Costly(name="table with objects", method="GET", target=f"{CONFIGMAPS}?includeObject=Object", headers={"Accept": TABLE})  # fmt: skip
    yield Costly(name="slice as table", method="GET", target=SLICES, headers={"Accept": TABLE})
    yield Costly(name="slice as yaml", method="GET", target=SLICES, headers={"Accept": YAML})
    yield Costly(name="deletecollection, dry", method="DELETE", target=f"{CONFIGMAPS}?dryRun=All")
    for path in ("/openapi/v2", "/openapi/v3", "/apis", "/openapi/v3/api/v1"):
        for accept in (JSON, YAML, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"):
            yield Costly(name=f"{path} as {accept[-20:]}", method="GET", target=path, headers={"Accept": accept})  # fmt: skip
    yield Costly(name="deletecollection", method="DELETE", target=CONFIGMAPS)
