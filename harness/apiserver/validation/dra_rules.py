"""Rules that claims, classes, slices and taint rules share: names, taints, selectors.

After k8s.io/kubernetes/pkg/apis/resource/validation.
"""

import functools
from collections.abc import Iterator
from typing import Any

from harness.apiserver import json_codec
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import feature_gates
from harness.apiserver.validation import formats, rules

CONFIGURATIONS_MAX = 32
"""Configurations in one class or claim."""
TAINTS_MAX = 16
"""Taints of one device."""
_SELECTORS_MAX = 32
"""Selectors of one request or class."""
_EXPRESSION_BYTES_MAX = 10 * 1024
_OPAQUE_BYTES_MAX = 10 * 1024
"""Size in bytes of opaque parameters or device data, as JSON."""
_EFFECTS = ("NoExecute", "NoSchedule", "None")
LABEL = rules.text(formats.label)


# ----------------------------------------------------------------------------- names


def _driver(name: str, at: str) -> Iterator[Cause]:
    """Validate a driver name: a subdomain, in upper or lower case."""
    yield from rules.no_longer_than(63)(name, at)
    yield from rules.text(formats.subdomain)(name.lower(), at)


def _pool(name: str, at: str) -> Iterator[Cause]:
    """Validate a pool name: subdomains separated by slashes."""
    yield from rules.no_longer_than(253)(name, at)
    for part in name.split("/"):
        yield from rules.text(formats.subdomain)(part, at)


DRIVER, POOL = rules.required(_driver), rules.required(_pool)
_IDENTIFIER = rules.every(rules.no_longer_than(32), rules.text(formats.c_identifier))


def attribute_name(name: str, at: str) -> Iterator[Cause]:
    """Validate an attribute or capacity name, with or without a domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        yield from _IDENTIFIER(name, at)
    elif "/" not in identifier:  # kube-apiserver accepts any name with two slashes
        for part, rule in ((domain, _driver), (identifier, _IDENTIFIER)):
            yield from rule(part, at) if part else [field_errors.invalid(at, "", "must be given")]


def full_attribute_name(name: str, at: str) -> Iterator[Cause]:
    """Validate an attribute name with a domain."""
    yield from attribute_name(name, at)
    if "/" not in name:
        yield field_errors.invalid(at, name, "must be a domain and a name separated by a slash")


# ---------------------------------------------------------------- taints, tolerations


TAINT = rules.fields(
    ("key", rules.text(formats.qualified_name)),
    ("value", rules.filled(rules.text(formats.label_value))),
    ("effect", rules.required(rules.one_of(*_EFFECTS))),
)


def _toleration_value(toleration: Document, at: str) -> Iterator[Cause]:
    operator, value = toleration.get("operator"), toleration.get("value")
    if operator == "Exists" and value:
        why = "must be empty for operator `Exists`"
        yield field_errors.invalid(f"{at}.value", value, why)
    elif operator == "Equal":
        yield from rules.text(formats.label_value)(value, f"{at}.value")


TOLERATIONS = rules.items(
    rules.fields(
        ("key", rules.filled(rules.text(formats.qualified_name))),
        ("operator", rules.required(rules.one_of("Equal", "Exists"))),
        ("", _toleration_value),
        ("effect", rules.filled(rules.one_of(*_EFFECTS))),
    )
)


# ------------------------------------------------------------------------ conditions


def _both_lists(device: Document, at: str) -> Iterator[Cause]:
    """Require that both lists are set or neither, and that no condition is in both."""
    keys = ("bindingConditions", "bindingFailureConditions")
    listed, failures = (device.get(key) or [] for key in keys)
    for key, names, others in zip(keys, (listed, failures), (failures, listed), strict=True):
        if others and not names:
            yield field_errors.invalid(f"{at}.{key}", None, "is required to use the other list")
    for index, name in enumerate(failures):
        if name in listed:
            why = "must not overlap with bindingConditions"
            yield field_errors.invalid(f"{at}.{keys[1]}[{index}]", name, why)


_BINDINGS = rules.items(rules.text(formats.qualified_name), 4, key=str)
BINDING_CONDITIONS = (
    ("bindingConditions", _BINDINGS),
    ("bindingFailureConditions", _BINDINGS),
    ("", _both_lists),
)
"""Rows for devices and for results."""
_CONDITION = rules.fields(
    ("type", rules.text(formats.qualified_name)),
    ("status", rules.one_of("False", "True", "Unknown")),
    ("observedGeneration", rules.at_least(0)),
    ("lastTransitionTime", rules.required()),
    ("reason", rules.required(rules.text(formats.condition_reason))),
    ("reason", rules.no_longer_than(1024)),
    ("message", rules.no_longer_than(32 * 1024)),
)
CONDITIONS = rules.items(
    _CONDITION, key=lambda condition: condition.get("type") or "", key_field="type"
)
FEW_CONDITIONS = rules.every(CONDITIONS, rules.no_more_than(8))
"""Those in the status of a device or of a DeviceTaintRule."""


# ------------------------------------------------------------ selectors, configuration


@functools.lru_cache(4096)
def _compile_error(text: str, *, with_lists: bool) -> str:
    from harness.cel import checking  # slow to import: the server starts without it

    try:
        checking.checked(text, with_lists=with_lists)
    except checking.CompileError as error:
        return str(error)
    return ""


def _expression(expression: str | None, at: str) -> Iterator[Cause]:
    text = expression or ""
    if too_long := list(rules.no_longer_than(_EXPRESSION_BYTES_MAX)(text, at)):
        yield from too_long
        return
    with_lists = feature_gates.is_on(feature_gates.LIST_ATTRIBUTES)
    if why := _compile_error(text, with_lists=with_lists):
        yield field_errors.invalid(at, text, why)


SELECTORS = rules.items(
    rules.fields(("cel", rules.present(rules.fields(("expression", _expression))))), _SELECTORS_MAX
)


def raw(value: Any, at: str) -> Iterator[Cause]:
    """Require a JSON object (`runtime.RawExtension`) of limited size."""
    if len(json_codec.encode(value)) > _OPAQUE_BYTES_MAX:
        yield field_errors.too_long(at, _OPAQUE_BYTES_MAX)
    elif not isinstance(value, dict):
        yield field_errors.invalid(at, value, "must be a JSON object")


CONFIGURATION = (
    ("opaque", rules.present(rules.fields(("driver", DRIVER), ("parameters", rules.present(raw))))),
)
"""Rows for the configurations of classes, claims and allocations."""
