"""References of the downward API: fields of the pod, resources of its containers."""

import re
from collections.abc import Iterator, Sequence

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import quantities
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

FIELDS_OF_FILES = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
"""Field paths that files of volumes may reference."""
FIELDS_OF_ENV = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
"""Field paths that environment variables may reference."""
_KNOWN = frozenset(
    {*FIELDS_OF_FILES, *FIELDS_OF_ENV, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
)
"""Field paths that the API can convert, including those that may not be referenced."""
_SUBSCRIPTED = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)
_RESOURCES = tuple(
    f"{bound}.{name}"
    for bound in ("limits", "requests")
    for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTES = (
    ("1", "1k", "1M", "1G", "1T", "1P", "1E"),
    ("1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
)
_SIZES = (*_BYTES[0], *_BYTES[1])
_DIVISORS = {
    "cpu": (("1m", "1"), "1m and 1 are supported with the cpu resource"),
    "memory": (_SIZES, f"{', '.join(_SIZES)} are supported with the memory resource"),
    "ephemeral-storage": (
        _SIZES,
        f"{', '.join(_SIZES)} are supported with the local ephemeral storage resource",
    ),
    "hugepages": (_SIZES, f"{', '.join(_SIZES)} are supported with the hugepages resource"),
}


def field_ref(document: Document, at: str, known: Sequence[str]) -> Iterator[Cause]:
    """Validate an `ObjectFieldSelector`, whose path is one of the known ones or has a subscript."""
    for key in ("apiVersion", "fieldPath"):
        if not document.get(key):
            yield field_errors.required(f"{at}.{key}")
            return
    path = document["fieldPath"]
    if subscripted := _SUBSCRIPTED.fullmatch(path):
        yield from _subscripted(subscripted[1], subscripted[2], at)
    elif path not in _KNOWN:
        why = f"error converting fieldPath: field label not supported: {path}"
        yield field_errors.invalid(f"{at}.fieldPath", path, why)
    elif path not in known:
        yield field_errors.unsupported(f"{at}.fieldPath", path, known)


def _subscripted(path: str, subscript: str, at: str) -> Iterator[Cause]:
    match path:
        case "metadata.annotations":
            yield from formats.check(at, subscript.lower(), formats.qualified_name)
        case "metadata.labels":
            yield from formats.check(at, subscript, formats.qualified_name)
        case _:
            why = f"error converting fieldPath: field label does not support subscript: {path}"
            yield field_errors.invalid(f"{at}.fieldPath", f"{path}['{subscript}']", why)


def resource_field_ref(document: Document, at: str, *, of_file: bool) -> Iterator[Cause]:
    """Validate a `ResourceFieldSelector`; files have to name the container."""
    name = document.get("resource") or ""
    if of_file and not document.get("containerName"):
        yield field_errors.required(f"{at}.containerName")
    elif not name:
        yield field_errors.required(f"{at}.resource")
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        yield field_errors.unsupported(f"{at}.resource", name, _RESOURCES)
    yield from _divisor(document.get("divisor"), name, at)


def _divisor(divisor: object, name: str, at: str) -> Iterator[Cause]:
    kind = "hugepages" if name.startswith(_HUGE_PAGES) else name.partition(".")[2]
    if divisor is None or kind not in _DIVISORS:
        return
    amount = quantities.parse(str(divisor))
    known, why = _DIVISORS[kind]
    if amount.amount and amount.text not in known:
        yield field_errors.invalid(f"{at}.divisor", name, f"only divisor's values {why}")


def file(document: Document, at: str) -> Iterator[Cause]:
    """Validate a `DownwardAPIVolumeFile`, except its path."""
    fields, amount = document.get("fieldRef"), document.get("resourceFieldRef")
    if fields is not None:
        yield from field_ref(fields, f"{at}.fieldRef", FIELDS_OF_FILES)
        if amount is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield field_errors.invalid(at, "resource", why)
    elif amount is not None:
        yield from resource_field_ref(amount, f"{at}.resourceFieldRef", of_file=True)
    else:
        yield field_errors.required(at, "one of fieldRef and resourceFieldRef is required")
    yield from field_rules.file_mode(document, at, "mode")
