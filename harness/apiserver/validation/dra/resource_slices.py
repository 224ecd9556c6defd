"""ResourceSlices: pool, node selection, and either devices or shared counters."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import device_capacity, dra_names, slice_devices
from harness.apiserver.validation.field import field_rules, selector_rules

DEVICES_MAX = 128
"""Devices of a slice without taints, counters and lists."""
DEVICES_MAX_ADVANCED = 64
"""Devices of a slice in which one has taints, consumes counters or has an attribute with a list."""
COUNTER_SETS_MAX = 8
"""Counter sets of a slice."""
_NODE_CHOICES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_CHOICE = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)


def device_slice(document: Document, old: Document | None = None) -> Iterator[Cause]:
    spec = document.get("spec") or {}
    before = None if old is None else old.get("spec") or {}
    yield from dra_names.driver_causes("spec.driver", spec.get("driver"))
    yield from _pool(spec.get("pool") or {})
    if before is not None:
        yield from _immutable_fields(spec, before)
    yield from _nodes(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield field_errors.invalid(
            "spec", "", "only one of `sharedCounters` or `devices` is allowed"
        )
    yield from _devices(spec, before)
    yield from field_rules.unique_items(
        spec.get("sharedCounters") or [],
        "spec.sharedCounters",
        COUNTER_SETS_MAX,
        device_capacity.counter_set,
        lambda counters: counters.get("name") or "",
    )


def warnings(document: Document) -> Iterator[str]:
    """Yield the warnings of kube-apiserver about a valid slice."""
    driver = document["spec"]["driver"]
    if driver != driver.lower():
        yield f"spec.driver: driver names should be lowercase, got {driver}"


def _pool(pool: Document) -> Iterator[Cause]:
    yield from dra_names.pool_causes("spec.pool.name", pool.get("name"))
    if (count := pool.get("resourceSliceCount") or 0) <= 0:
        yield field_errors.invalid(
            "spec.pool.resourceSliceCount", count, "must be greater than zero"
        )
    if (generation := pool.get("generation") or 0) < 0:
        why = "must be greater than or equal to zero"
        yield field_errors.invalid("spec.pool.generation", generation, why)


def _immutable_fields(spec: Document, before: Document) -> Iterator[Cause]:
    name, was = ((item.get("pool") or {}).get("name") or "" for item in (spec, before))
    if name != was:
        yield field_errors.immutable("spec.pool.name", name)
    if (driver := spec.get("driver") or "") != before.get("driver"):
        yield field_errors.immutable("spec.driver", driver)
    if spec.get("nodeName") != before.get("nodeName"):
        yield field_errors.immutable("spec.nodeName", spec.get("nodeName"))


def _nodes(spec: Document) -> Iterator[Cause]:
    if (name := spec.get("nodeName")) == "":
        why = "must be either unset or set to a non-empty string"
        yield field_errors.invalid("spec.nodeName", name, why)
    elif name is not None:
        yield from selector_rules.node_name(name, "spec.nodeName")
    if (selector := spec.get("nodeSelector")) is not None:
        yield from _selector(selector)
    for key in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(key) is False:
            yield field_errors.invalid(f"spec.{key}", False, "must be either unset or set to true")  # noqa: FBT003
    yield from _one_choice(spec)


def _selector(selector: Document) -> Iterator[Cause]:
    yield from selector_rules.node_selector(selector, "spec.nodeSelector")
    terms = selector.get("nodeSelectorTerms")
    if len(terms or []) != 1:
        why = "must have exactly one node selector term"
        yield field_errors.invalid("spec.nodeSelector.nodeSelectorTerms", terms, why)


def _one_choice(spec: Document) -> Iterator[Cause]:
    chosen = slice_devices.chosen(spec, _NODE_CHOICES)
    if not chosen:
        yield field_errors.required("spec", _ONE_CHOICE)
    elif len(chosen) > 1:
        why = f"{_ONE_CHOICE}, but multiple fields are set"
        yield field_errors.invalid("spec", slice_devices.shown_choices(chosen), why)


def _devices(spec: Document, before: Document | None) -> Iterator[Cause]:
    devices = spec.get("devices") or []
    limit = DEVICES_MAX_ADVANCED if any(map(_is_advanced, devices)) else DEVICES_MAX
    if len(devices) > limit:
        yield field_errors.too_many("spec.devices", len(devices), limit)
        return
    known = {item.get("name"): item for item in (before or {}).get("devices") or ()}
    each_chooses = bool(spec.get("perDeviceNodeSelection"))
    for index, item in enumerate(devices):
        at, old = f"spec.devices[{index}]", known.get(item.get("name"))
        yield from slice_devices.device(item, at, old=old, each_chooses=each_chooses)
    yield from field_rules.duplicates([item.get("name") or "" for item in devices], "spec.devices")


def _is_advanced(device: Document) -> bool:
    has_fields = device.get("taints") or device.get("consumesCounters")
    return bool(has_fields) or slice_devices.has_list(device)
