"""The numbers, types and cardinalities of protobuf fields: against Kubernetes' own descriptors, and messages byte for byte."""

import base64
import contextlib
import pathlib
import re
from typing import Any

import pytest

from harness.apiserver import protobuf, protobuf_fields, schemas, statuses

NUMBERS = pathlib.Path(__file__).with_name("protobuf_numbers.txt")
"""What kubectl 1.33.1 carries, written by tools/protobuf_numbers.py: `name=number:type`; [list], {map}."""
NAMED_OTHERWISE = {"authentication.v1.BoundObjectReference": {"uID": "uid"}}
"""Fields whose names in protobuf are not those in JSON."""
VALUE_TYPES = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": "quantity",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": "int_or_string",
    "meta.v1.Time": "time",
    "meta.v1.MicroTime": "micro_time",
    "meta.v1.FieldsV1": "any",
    "authentication.v1.ExtraValue": "[string]",
}


def our_name(type_name: re.Match[str]) -> str:
    return VALUE_TYPES.get(type_name[0], type_name[0])


def fields_of(name: str, texts: list[str]) -> dict[str, tuple[int, str]]:
    """The number and the type of each field, by its name in JSON."""
    found = {}
    for text in texts:
        field, number, type_name = text.replace("=", ":", 1).split(":")
        json_name = NAMED_OTHERWISE.get(name, {}).get(field, field)
        found[json_name] = int(number), re.sub(r"[^\[\]{}]+", our_name, type_name)
    return found


KNOWN = {
    name: fields_of(name, texts)
    for name, *texts in map(str.split, NUMBERS.read_text().splitlines())
}
TABLE = [line.split() for line in protobuf_fields.FIELDS.strip().splitlines()]


def shape(kind: schemas.Type) -> str:
    """A type as the descriptors have it."""
    match kind.kind:
        case "list" if kind.item:
            return f"[{shape(kind.item)}]"
        case "map" if kind.item:
            return f"{{{shape(kind.item)}}}"
        case "object":
            return re.sub(r"io\.k8s\.(api|apimachinery\.pkg\.apis)\.", "", kind.name)
        case "integer":
            return kind.format or "int64"
    return kind.kind


@pytest.mark.parametrize("line", TABLE, ids=lambda line: str(line[0]))
def test_numbers_types_and_cardinalities_are_those_of_kubernetes(line: list[str]) -> None:
    name, *texts = line
    (full,) = [prefix + name for prefix in protobuf.PREFIXES if prefix + name in schemas.raw()]
    kind = schemas.definition(full)
    fields = [text.split("=") for text in texts]
    ours = {field: (int(number), shape(kind.field(field).type)) for field, number in fields}
    assert ours == KNOWN[name]


# ------------------------------------------------------------------ bytes

Fields = list[tuple[int, Any]]


def varint(value: int) -> bytes:
    value %= 1 << 64
    low = [value >> 7 * at & 0x7F for at in range(max(1, -(-value.bit_length() // 7)))]
    return bytes([part | 0x80 for part in low[:-1]] + low[-1:])


def message(fields: Fields) -> bytes:
    """Fields by the encoding's own rules: (number, an integer, a text, bytes, or the fields of a message)."""
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += varint(number << 3) + varint(value)
        else:
            data = message(value) if isinstance(value, list) else value
            data = data.encode() if isinstance(data, str) else data
            made += varint(number << 3 | 2) + varint(len(data)) + data
    return made


def enveloped(api_version: str, kind: str, fields: Fields) -> bytes:
    """k8s.io.apimachinery.pkg.runtime.Unknown: typeMeta, raw, contentEncoding, contentType."""
    return b"k8s\0" + message([(1, [(1, api_version), (2, kind)]), (2, fields), (3, ""), (4, "")])


YEAR_2026 = 1_767_225_600
NAMED: Fields = [(1, "x")]
DEPLOYMENT = (
    [
        (1, [(1, "x"), (2, "x-"), (3, "n"), (5, "u"), (6, "7"), (7, 2), (8, [(1, YEAR_2026)])]),
        (2, [
            (1, 0),
            (2, [(1, [(1, "a"), (2, "b")]), (2, [(1, "k"), (2, "In"), (3, "v"), (3, "w")])]),
            (3, [(1, [(11, [(1, "a"), (2, "b")])]), (2, [
                (2, [(1, "c"), (2, "i"), (3, "sh"), (6, [(3, 80), (4, "TCP")]), (7, [(1, "E"), (2, "1")])]),
                (3, "Always"), (4, 0), (19, "s"),
                (22, [(1, "t"), (2, "Exists"), (4, "NoExecute"), (5, 0)]),
            ])]),
            (4, [(1, "RollingUpdate"), (2, [(1, [(1, 1), (3, "25%")]), (2, [(1, 0), (2, 0)])])]),
            (7, 1), (9, 600),
        ]),
    ],
    {
        "metadata": {
            "name": "x", "generateName": "x-", "namespace": "n", "uid": "u", "resourceVersion": "7",
            "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "replicas": 0,
            "selector": {
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["v", "w"]}],
            },
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "containers": [{
                        "name": "c", "image": "i", "command": ["sh"],
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "env": [{"name": "E", "value": "1"}],
                    }],
                    "restartPolicy": "Always", "terminationGracePeriodSeconds": 0, "schedulerName": "s",
                    "tolerations": [
                        {"key": "t", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
                    ],
                },
            },
            "strategy": {
                "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
            },
            "paused": True, "progressDeadlineSeconds": 600,
        },
    },
)  # fmt: skip
MESSAGES: dict[tuple[str, str], tuple[Fields, dict[str, Any]]] = {
    ("apps/v1", "Deployment"): DEPLOYMENT,
    ("v1", "Secret"): (
        [(1, NAMED), (2, [(1, "k"), (2, b"\0\xff")]), (3, "Opaque"), (5, 0)],
        {
            "metadata": {"name": "x"}, "data": {"k": base64.b64encode(b"\0\xff").decode()},
            "type": "Opaque", "immutable": False,
        },
    ),
    ("v1", "ConfigMap"): (
        [
            (1, [
                (13, [(1, "ReplicaSet"), (3, "r"), (4, "u"), (5, "apps/v1"), (6, 0), (7, 1)]), (14, "f/g"),
                (17, [(1, "m"), (2, "Apply"), (3, "v1"), (4, [(1, YEAR_2026)]), (6, "FieldsV1"), (7, [(1, '{"f:data":{}}')])]),
            ]),
            (2, [(1, "k"), (2, "")]),
        ],
        {
            "metadata": {
                "ownerReferences": [{
                    "kind": "ReplicaSet", "name": "r", "uid": "u", "apiVersion": "apps/v1",
                    "controller": False, "blockOwnerDeletion": True,
                }],
                "finalizers": ["f/g"],
                "managedFields": [{
                    "manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}},
                }],
            },
            "data": {"k": ""},
        },
    ),
    ("v1", "ResourceQuota"): (
        [(2, [(1, [(1, "cpu"), (2, [(1, "500m")])]), (2, "Terminating")])],
        {"spec": {"hard": {"cpu": "500m"}, "scopes": ["Terminating"]}},
    ),
    ("v1", "Service"): (
        [(2, [(1, [(1, "p"), (2, "TCP"), (3, 80), (4, [(1, 1), (3, "web")])]), (2, [(1, "a"), (2, "b")]), (3, "None"), (4, "ClusterIP"), (7, "ClientIP")])],
        {"spec": {
            "ports": [{"name": "p", "protocol": "TCP", "port": 80, "targetPort": "web"}],
            "selector": {"a": "b"}, "clusterIP": "None", "type": "ClusterIP", "sessionAffinity": "ClientIP",
        }},
    ),
    ("v1", "Binding"): (
        [(1, NAMED), (2, [(1, "Node"), (3, "worker-0")])],
        {"metadata": {"name": "x"}, "target": {"kind": "Node", "name": "worker-0"}},
    ),
    ("policy/v1", "Eviction"): (
        [(1, NAMED), (2, [(1, 0), (2, [(1, "u"), (2, "7")]), (4, "Orphan"), (5, "All")])],
        {"metadata": {"name": "x"}, "deleteOptions": {
            "gracePeriodSeconds": 0, "preconditions": {"uid": "u", "resourceVersion": "7"},
            "propagationPolicy": "Orphan", "dryRun": ["All"],
        }},
    ),
    ("policy/v1", "PodDisruptionBudget"): (
        [(2, [(1, [(1, 0), (2, 0)]), (3, [(1, 0), (2, -1)])]), (3, [(2, [(1, "p"), (2, [(1, YEAR_2026)])]), (3, -1)])],
        {
            "spec": {"minAvailable": 0, "maxUnavailable": -1},
            "status": {"disruptedPods": {"p": "2026-01-01T00:00:00Z"}, "disruptionsAllowed": -1},
        },
    ),
    ("coordination.k8s.io/v1", "Lease"): (
        [(2, [(1, ""), (2, 15), (4, [(1, YEAR_2026), (2, 1000)]), (5, 0)])],
        {"spec": {
            "holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000001Z",
            "leaseTransitions": 0,
        }},
    ),
    ("authentication.k8s.io/v1", "SelfSubjectReview"): (
        [(2, [(1, [(1, "me"), (3, "g"), (4, [(1, "k"), (2, [(1, "a"), (1, "b")])])])])],
        {"status": {"userInfo": {"username": "me", "groups": ["g"], "extra": {"k": ["a", "b"]}}}},
    ),
    ("authentication.k8s.io/v1", "TokenRequest"): (
        [(2, [(1, "a"), (3, [(1, "Pod"), (2, "v1"), (3, "p"), (4, "u")]), (4, 600)])],
        {"spec": {
            "audiences": ["a"], "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "u"},
            "expirationSeconds": 600,
        }},
    ),
    ("batch/v1", "CronJob"): (
        [(2, [(1, "* * * * *"), (3, "Forbid"), (4, 0), (5, [(2, [(1, 1), (7, 0), (9, "Indexed")])]), (8, "UTC")])],
        {"spec": {
            "schedule": "* * * * *", "concurrencyPolicy": "Forbid", "suspend": False,
            "jobTemplate": {"spec": {"parallelism": 1, "backoffLimit": 0, "completionMode": "Indexed"}},
            "timeZone": "UTC",
        }},
    ),
}  # fmt: skip


@pytest.mark.parametrize("named", MESSAGES, ids=lambda named: str(named[1]))
def test_messages_byte_for_byte(named: tuple[str, str]) -> None:
    (api_version, kind), (fields, expected) = named, MESSAGES[named]
    document = {"kind": kind, "apiVersion": api_version, **expected}
    assert protobuf.decode(enveloped(api_version, kind, fields)) == document
    group, _, version = api_version.rpartition("/")
    raw = protobuf.encode_object(schemas.of_kind(group, version, kind), document)
    assert protobuf.encode(document, raw) == enveloped(api_version, kind, fields)


def test_a_list_byte_for_byte() -> None:
    kind = schemas.of_kind("scheduling.k8s.io", "v1", "PriorityClass")
    items = [{"metadata": {"name": "x"}, "value": -5, "globalDefault": True}]
    made = protobuf.encode_list(kind, {"metadata": {"resourceVersion": "7"}, "items": items})
    assert made == message([(1, [(2, "7")]), (2, [(1, NAMED), (2, -5), (3, 1)])])


def test_zeros_that_mean_nothing_are_not_taken_over() -> None:
    """Go writes every field that is no pointer, set or not."""
    spec: Fields = [(1, 3), (5, 0), (7, 0), (4, [(1, "")])]
    decoded = protobuf.decode(
        enveloped("apps/v1", "Deployment", [(1, [(1, "x"), (2, ""), (7, 0)]), (2, spec)])
    )
    assert decoded["metadata"] == {"name": "x"}
    assert decoded["spec"] == {"replicas": 3, "strategy": {}}


@pytest.mark.parametrize(
    "fields",
    [
        [(1, 1)],
        [(1, [(1, 1)])],
        [(1, [(8, [(1, "x")])])],
        [(1, [(8, [(1, 1 << 62)])])],
        [(1, [(8, [(1, 1), (2, 1 << 62)])])],
        [(1, [(11, 1)])],
        [(1, [(11, [(1, 1)])])],
        [(1, [(17, [(7, [(1, "{")])])])],
        [(2, [(1, "x")])],
    ],
    ids=str,
)
def test_values_of_another_type_are_refused(refuses: Any, fields: Fields) -> None:
    with refuses(400, "BadRequest", "no protobuf message"):
        protobuf.decode(enveloped("apps/v1", "Deployment", fields))


def test_a_byte_that_changes_is_no_failure_of_the_server() -> None:
    """What comes out is an object or 400, whichever byte it is."""
    for (api_version, kind), (fields, _) in MESSAGES.items():
        body = enveloped(api_version, kind, fields)
        for at in range(len(protobuf.MAGIC), len(body)):
            for byte in (0x00, 0x7F, 0x80, 0xFF, body[at] ^ 1):
                changed = body[:at] + bytes([byte]) + body[at + 1 :]
                with contextlib.suppress(statuses.StatusError):
                    protobuf.decode(changed)
