"""ResourceSlices: pool, node selection, devices or shared counters. DeviceTaintRules.

After k8s.io/kubernetes/pkg/apis/resource/validation.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import quantities
from harness.apiserver.validation import dra_rules, formats, node_resources, rules

DEVICES_MAX = 128
"""Devices of a slice without taints, counters and lists."""
DEVICES_MAX_ADVANCED = 64
"""Devices of a slice in which one has taints, consumes counters or has an attribute with a list."""
COUNTER_SETS_MAX = 8
"""Counter sets of a slice."""
COUNTERS_MAX = 32
"""Counters in one counter set or consumption."""
PROPERTIES_MAX = 32
"""Attributes and capacities of one device, counted together."""
ATTRIBUTE_VALUES_MAX = 48
"""Values of all attributes of one device, where each item of a list counts."""
LIST_VALUES = ("bools", "ints", "strings", "versions")
"""Fields of an attribute whose value is a list."""
POLICY_VALUES_MAX = 10
"""Entries of `validValues` in a request policy."""


# ------------------------------------------------------------------------ attributes


_STRING = rules.no_longer_than(64)
_VERSION = rules.every(rules.text(formats.semantic_version), _STRING)
_LIST = rules.wrong_if(lambda value: value == [], "must not be empty if specified")


def _one_value(attribute: Document, at: str) -> Iterator[Cause]:
    if sum(value is not None for value in attribute.values()) != 1:
        yield field_errors.invalid(at, attribute or "", "exactly one value must be specified")


_ATTRIBUTE = rules.fields(
    ("string", rules.given(_STRING)),
    ("version", rules.given(_VERSION)),
    *((key, _LIST) for key in LIST_VALUES),
    ("strings", rules.items(_STRING)),
    ("versions", rules.items(_VERSION)),
    ("", _one_value),
)


def has_list(device: Document) -> bool:
    """Return whether a device has an attribute whose value is a list."""
    attributes = (device.get("attributes") or {}).values()
    return any(key in (attribute or ()) for attribute in attributes for key in LIST_VALUES)


def _by_name(rule: rules.Rule) -> rules.Rule:
    """Return the rule of attributes or capacities: their names, and each value."""

    def check(documents: Document | None, at: str) -> Iterator[Cause]:
        for name, item in (documents or {}).items():
            yield from dra_rules.attribute_name(name, at)
            yield from rule(item or {}, f"{at}[{name}]")

    return check


# -------------------------------------------------------------- capacities, counters


def _unshared(capacity: Document, at: str) -> Iterator[Cause]:
    """Reject a request policy on a device without `allowMultipleAllocations`."""
    if capacity.get("requestPolicy") is not None:
        yield field_errors.forbidden(f"{at}.requestPolicy", "allowMultipleAllocations must be true")


def _shared(capacity: Document, at: str) -> Iterator[Cause]:
    """Validate the request policy of a device with `allowMultipleAllocations`."""
    policy, at = capacity.get("requestPolicy") or {}, f"{at}.requestPolicy"
    values, bounds = policy.get("validValues") or [], policy.get("validRange")
    if values and bounds is not None:
        yield field_errors.forbidden(at, "only one of `validValues` and `validRange` is allowed")
    elif not values and bounds is None:
        return
    elif policy.get("default") is None:
        yield field_errors.required(f"{at}.default", "required beside validValues and validRange")
    else:
        whole = node_resources.quantity(capacity.get("value") or "0")
        preset = node_resources.quantity(policy["default"])
        if bounds is not None:
            yield from _range(preset, whole, bounds, f"{at}.validRange")
        else:
            yield from _values(preset, whole, values, f"{at}.validValues")


def _values(
    preset: quantities.Quantity, whole: quantities.Quantity, values: Sequence[Any], at: str
) -> Iterator[Cause]:
    options = list(map(node_resources.quantity, values))
    for index, (before, option) in enumerate(itertools.pairwise(options), start=1):
        if before.amount > option.amount:
            why = "values must be sorted in ascending order"
            yield field_errors.invalid(f"{at}[{index}]", option.text, why)

    def fits(option: quantities.Quantity, at: str) -> Iterator[Cause]:
        if option.amount > whole.amount:
            yield field_errors.invalid(at, option.text, "exceeds the value")

    yield from rules.items(fits, POLICY_VALUES_MAX, key=quantities.Quantity.integer)(options, at)
    if len(options) > POLICY_VALUES_MAX or preset.amount not in {one.amount for one in options}:
        yield field_errors.invalid(at, preset.text, "the default is none of the valid values")


def _range(
    preset: quantities.Quantity, whole: quantities.Quantity, bounds: Document, at: str
) -> Iterator[Cause]:
    if bounds.get("min") is None:
        yield field_errors.required(f"{at}.min", "required when validRange is defined")
        return
    low = node_resources.quantity(bounds["min"])
    high, step = (
        None if bounds.get(key) is None else node_resources.quantity(bounds[key])
        for key in ("max", "step")
    )
    wrong = [
        ("min", low, low.amount > whole.amount, "min is larger than the capacity"),
        ("min", preset, preset.amount < low.amount, "the default is less than min"),
    ]
    if high is not None:
        wrong += [
            ("max", low, low.amount > high.amount, "min is larger than max"),
            ("max", high, high.amount > whole.amount, "max is larger than the capacity"),
            ("max", preset, preset.amount > high.amount, "the default is more than max"),
        ]
    if step is not None and step.amount <= 0:
        wrong.append(("step", step, True, "must be greater than zero"))
    elif step is not None:
        is_large = low.amount + step.amount > whole.amount
        wrong.append(("step", step, is_large, "one step is larger than the capacity"))
        for value in filter(None, (preset, high)):
            is_between = (value.integer() - low.integer()) % step.integer() != 0
            wrong.append(("step", value, is_between, "no whole number of steps from min"))
    for key, shown, is_wrong, why in wrong:
        if is_wrong:
            yield field_errors.invalid(f"{at}.{key}", shown.text, why)


def _counters(counters: Document | None, at: str) -> Iterator[Cause]:
    names = rules.items(lambda name, _: dra_rules.LABEL(name, at), COUNTERS_MAX)
    yield from rules.required(names)(list(counters or ()), at)


# --------------------------------------------------------------------------- devices


def _node_choice(*keys: str) -> tuple[tuple[str, rules.Rule], ...]:
    """Return rows for the fields that select nodes: exactly one is set, and it is right."""
    true = rules.wrong_if(lambda value: value is False, "must be either unset or set to true")
    node_name = rules.text(formats.subdomain)
    known: dict[str, rules.Rule] = {
        "nodeName": lambda value, at: (
            [field_errors.invalid(at, value, "must not be empty")]
            if value == ""
            else node_name(value, at)
        ),
        "nodeSelector": node_resources.node_selector,
    }
    choice = rules.exactly_one(*keys, missing=field_errors.required, unset=(None, "", False))
    return *((key, rules.given(known.get(key, true))) for key in keys), ("", choice)


_DEVICE_NODES = ("nodeName", "nodeSelector", "allNodes")
_OWN_CHOICE = rules.fields(*_node_choice(*_DEVICE_NODES))
_CONSUMPTION = rules.fields(
    ("counterSet", rules.required(dra_rules.LABEL)), ("counters", _counters)
)
_DEVICE = rules.fields(
    ("name", dra_rules.LABEL),
    ("attributes", _by_name(_ATTRIBUTE)),
    (
        "consumesCounters",
        rules.items(_CONSUMPTION, 2, key=lambda consumption: consumption.get("counterSet") or ""),
    ),
    *dra_rules.BINDING_CONDITIONS,
)
_TAINTS = rules.items(dra_rules.TAINT, dra_rules.TAINTS_MAX)


def _device(device: Document, old: Document | None, at: str) -> Iterator[Cause]:
    """Validate a device; capacity and taints that `old` has unchanged are not validated again."""
    yield from _DEVICE(device, at)
    yield from _sizes(device.get("attributes") or {}, device.get("capacity") or {}, at)
    shared = _shared if device.get("allowMultipleAllocations") else _unshared
    yield from rules.changed({"capacity": _by_name(shared), "taints": _TAINTS}, device, old, at)


def _sizes(attributes: Document, capacity: Document, at: str) -> Iterator[Cause]:
    if (count := len(attributes) + len(capacity)) > PROPERTIES_MAX:
        why = f"the total number of attributes and capacities must not exceed {PROPERTIES_MAX}"
        yield field_errors.invalid(at, count, why)
    count = sum(
        sum(len((attribute or {}).get(key) or ()) for key in LIST_VALUES) or 1
        for attribute in attributes.values()
    )
    if count > ATTRIBUTE_VALUES_MAX:
        why = f"the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}"
        yield field_errors.invalid(at, count, why)


def _devices(spec: Document, before: Document | None) -> Iterator[Cause]:
    devices, at = spec.get("devices") or [], "spec.devices"
    is_advanced = any(
        device.get("taints") or device.get("consumesCounters") or has_list(device)
        for device in devices
    )
    limit = DEVICES_MAX_ADVANCED if is_advanced else DEVICES_MAX
    known = {item.get("name"): item for item in (before or {}).get("devices") or ()}
    chooses = bool(spec.get("perDeviceNodeSelection"))

    def rule(device: Document, at: str) -> Iterator[Cause]:
        yield from _device(device, known.get(device.get("name")), at)
        if chooses:
            yield from _OWN_CHOICE(device, at)
        elif any(device.get(key) is not None for key in _DEVICE_NODES):
            why = "can only select nodes if `perDeviceNodeSelection` is set in the spec"
            yield field_errors.invalid(at, None, why)

    yield from rules.items(rule, limit, key=rules.name_of)(devices, at)


# ---------------------------------------------------------------------------- slices


def device_slice(document: Document, old: Document | None = None) -> Iterator[Cause]:
    """Validate a ResourceSlice, new or updated."""
    spec = document.get("spec") or {}
    yield from _SLICE(document)
    terms = (spec.get("nodeSelector") or {}).get("nodeSelectorTerms")
    if spec.get("nodeSelector") is not None and len(terms or ()) != 1:
        why = "must have exactly one node selector term"
        yield field_errors.invalid("spec.nodeSelector.nodeSelectorTerms", terms, why)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        why = "only one of `sharedCounters` or `devices` is allowed"
        yield field_errors.invalid("spec", "", why)
    for kept in _KEPT if old is not None else ():
        yield from kept(document, old or {})
    yield from _devices(spec, (old or {}).get("spec"))


def warnings(document: Document) -> Iterator[str]:
    """Yield the warnings of kube-apiserver about a valid slice."""
    driver = document["spec"]["driver"]
    if driver != driver.lower():
        yield f"spec.driver: driver names should be lowercase, got {driver}"


_KEPT = [rules.immutable(f"spec.{path}") for path in ("pool.name", "driver", "nodeName")]
_SLICE = rules.whole(
    ("spec.driver", dra_rules.DRIVER),
    ("spec.pool.name", dra_rules.POOL),
    ("spec.pool.resourceSliceCount", rules.at_least(1)),
    ("spec.pool.generation", rules.at_least(0)),
    (
        "spec",
        rules.fields(
            *_node_choice("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
        ),
    ),
    (
        "spec.sharedCounters",
        rules.items(
            rules.fields(("name", rules.required(dra_rules.LABEL)), ("counters", _counters)),
            COUNTER_SETS_MAX,
            key=rules.name_of,
        ),
    ),
)


# ----------------------------------------------------------------------- taint rules


_SELECTOR = rules.fields(
    ("driver", rules.given(dra_rules.DRIVER)),
    ("pool", rules.given(dra_rules.POOL)),
    ("device", rules.given(dra_rules.LABEL)),
)
_TAINT_RULE = rules.whole(("spec.deviceSelector", _SELECTOR), ("spec.taint", dra_rules.TAINT))
taint_rule_status = rules.whole(("status.conditions", dra_rules.FEW_CONDITIONS))


def taint_rule(document: Document, old: Document | None = None) -> Iterator[Cause]:
    """Validate a DeviceTaintRule; an effect that `old` has too is accepted, even if unknown."""
    kept = ((old or {}).get("spec") or {}).get("taint") or {}
    taint = (document.get("spec") or {}).get("taint") or {}
    is_kept = bool(old) and taint.get("effect") == kept.get("effect")
    for cause in _TAINT_RULE(document):
        if not (is_kept and cause.field == "spec.taint.effect"):
            yield cause
