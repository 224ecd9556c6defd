"""Values as Go prints them in error messages: strings, decoded JSON, and internal structs.

Kubernetes prints internal structs as JSON. They have no JSON names, so their fields appear with
their Go names, in Go's order, and with their zero values.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from harness.apiserver.codec import json_codec

_GO_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_JSON_ESCAPES = re.compile("[<>&\u2028\u2029]")

_STRUCTS = {
    "AllocationResult": "Devices:DeviceAllocationResult NodeSelector:*NodeSelector AllocationTimestamp:*",
    "DeviceAllocationResult": "Results:[]DeviceRequestAllocationResult Config:[]DeviceAllocationConfiguration",
    "DeviceRequestAllocationResult": (
        "Request Driver Pool Device AdminAccess:* Tolerations:[]DeviceToleration BindingConditions:* "
        "BindingFailureConditions:* ShareID:* ConsumedCapacity:*"
    ),
    "DeviceAllocationConfiguration": "Source Requests:* Opaque:*OpaqueDeviceConfiguration",
    "DeviceToleration": "Key Operator Value Effect TolerationSeconds:*",
    "OpaqueDeviceConfiguration": "Driver Parameters:*",
    "NodeSelector": "NodeSelectorTerms:[]NodeSelectorTerm",
    "NodeSelectorTerm": (
        "MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement"
    ),
    "NodeSelectorRequirement": "Key Operator Values:*",
    "DeviceAttribute": (
        "IntValue=int:* BoolValue=bool:* StringValue=string:* VersionValue=version:* IntValues=ints:* "
        "BoolValues=bools:* StringValues=strings:* VersionValues=versions:*"
    ),
    "ResourceClaimTemplateSpec": "ObjectMeta=metadata:inline Spec:ResourceClaimSpec",
    "ResourceClaimSpec": "Devices:DeviceClaim",
    "DeviceClaim": (
        "Requests:[]DeviceRequest Constraints:[]DeviceConstraint Config:[]DeviceClaimConfiguration"
    ),
    "DeviceRequest": "Name Exactly:*ExactDeviceRequest FirstAvailable:[]DeviceSubRequest",
    "ExactDeviceRequest": (
        "DeviceClassName Selectors:[]DeviceSelector AllocationMode Count:0 AdminAccess:* "
        "Tolerations:[]DeviceToleration Capacity:*CapacityRequirements"
    ),
    "DeviceSubRequest": (
        "Name DeviceClassName Selectors:[]DeviceSelector AllocationMode Count:0 "
        "Tolerations:[]DeviceToleration Capacity:*CapacityRequirements"
    ),
    "DeviceSelector": "CEL=cel:*CELDeviceSelector",
    "CELDeviceSelector": "Expression",
    "CapacityRequirements": "Requests:*",
    "DeviceConstraint": "Requests:* MatchAttribute:* DistinctAttribute:*",
    "DeviceClaimConfiguration": "Requests:* Opaque:*OpaqueDeviceConfiguration",
    "SharedDeviceID": "Driver Pool Device ShareID",
    "PodResourceClaim": "Name ResourceClaimName:* ResourceClaimTemplateName:*",
    "Taint": "Key Value Effect TimeAdded:*",
}
"""The fields of Go's internal structs, each as `GoName=apiName:type`.

The API's name is omitted if it differs in the case of its first letter only. The type is empty for
a string, `0` for a number, `false` for a boolean, `*` for any value or null, the name of a struct,
`*` and a name for a pointer to a struct, `[]` and a name for a slice of structs.
"""

Document = Mapping[str, Any]
_Printer = Callable[[Any], Any]


def quoted(text: str) -> str:
    """Format a string like Go's `%q`."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_GO_ESCAPES.get(letter) or _escaped(letter) for letter in text) + '"'


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


def shown(value: object) -> str:
    """Format the bad value of an error message."""
    match value:
        case str():
            return quoted(value)
        case bool():
            return "true" if value else "false"
        case _:
            return json(value)


def json(value: object) -> str:
    """Encode JSON as Go does: without spaces, with `<`, `>` and `&` escaped."""
    text = json_codec.encode(value).decode()
    return _JSON_ESCAPES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def struct(name: str, document: Document | None) -> dict[str, Any]:
    """Convert a document to the fields of an internal struct of Kubernetes, ready for `shown`."""
    given = document or {}
    printed: dict[str, Any] = {}
    for go_name, key, convert in _FIELDS[name]:
        if go_name == "ObjectMeta":
            printed |= given.get(key) or {}
        else:
            printed[go_name] = convert(given.get(key))
    return printed


def structs(name: str, documents: list[Document] | None) -> list[dict[str, Any]] | None:
    """Convert each document of a list like `struct`; None for None."""
    return None if documents is None else [struct(name, document) for document in documents]


def _escaped(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _field(text: str) -> tuple[str, str, _Printer]:
    names, _, kind = text.partition(":")
    go_name, _, key = names.partition("=")
    return go_name, key or go_name[0].lower() + go_name[1:], _printer(kind)


def _printer(kind: str) -> _Printer:
    match kind:
        case "":
            return lambda value: value or ""
        case "0":
            return lambda value: value or 0
        case "false":
            return lambda value: value or False
        case "*" | "inline":
            return lambda value: value
        case _ if kind.startswith("*"):
            return lambda value: None if value is None else struct(kind[1:], value)
        case _ if kind.startswith("[]"):
            return lambda value: structs(kind[2:], value)
        case _:
            return lambda value: struct(kind, value)


_FIELDS = {name: [_field(text) for text in line.split()] for name, line in _STRUCTS.items()}
