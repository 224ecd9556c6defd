"""Recognizes values that identify a device or are secret, and makes values that say nothing."""

import re
from collections.abc import Mapping
from typing import Any

_IDENTITY = re.compile(
    r"""[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}           # UUIDs
    | \b(pci)?[0-9a-fA-F]{4}:[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}\.[0-9a-fA-F])?\b # addresses, roots of PCI
    | \b([0-9a-fA-F]{2}[:-]){5,}[0-9a-fA-F]{2}\b                       # MAC addresses, GUIDs
    | \b\d{1,3}(\.\d{1,3}){3}\b | \b[0-9a-fA-F]{0,4}::[0-9a-fA-F:]*    # IP addresses
    | \b(?=[0-9A-Z]*\d)(?=[0-9A-Z]*[A-Z])[0-9A-Z]{10,}\b | \b\d{9,}\b  # serial numbers
    | \b(?=[\w.-]*[a-zA-Z])[\w-]+(\.[\w-]+){2,}\b                      # names of hosts
    """,
    re.VERBOSE,
)
_TELLING = re.compile(
    r"uuid|guid|serial|mac$|macaddress|address|busid|hostname|wwn|pcieroot|ifname|ipv[46]|networkname|alias|domainid",
    re.IGNORECASE,
)
"""Names of attributes whose text tells it, whatever it looks like."""
_SECRET = re.compile(
    r"secret|password|passwd|token|credential|private|api.?key|auth", re.IGNORECASE
)
_TYPE_KEYS = ("apiVersion", "kind")
REDACTED = "redacted"


def tells_identity(value: str, name: str = "") -> bool:
    """Return whether the text of an attribute of this name could tell whose device it is."""
    return bool(_TELLING.search(name) or _IDENTITY.search(value))


def is_secret(key: str) -> bool:
    return bool(_SECRET.search(key))


def without_values(parameters: Any) -> Any:
    """Return opaque parameters with their keys and types, and without their values.

    `apiVersion` and `kind` at the top stay: by them a driver knows what it reads.
    """
    if not isinstance(parameters, Mapping):
        return blank(parameters)
    return {
        key: item if key in _TYPE_KEYS and isinstance(item, str) else blank(item)
        for key, item in parameters.items()
    }


def blank(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: blank(item) for key, item in value.items()}
        case list():
            return [blank(item) for item in value]
        case bool():
            return False
        case int() | float():
            return 0
        case str():
            return REDACTED
    return None
