"""DeviceTaintRules: which devices they select, and slices with their taints.

A rule selects devices by driver, pool and name; one of version v1alpha3 in Kubernetes 1.33 and 1.34
may also name a DeviceClass or have CEL selectors. An empty selector selects every device, a missing
one none, as documented (kubernetes#141620).
"""

from collections.abc import Iterable, Mapping, Sequence

from harness.client import apis
from harness.model.objects import Object
from harness.subject.cel import selectors as cel_selectors

VERSIONS = (apis.TAINT_RULES, apis.OLD_TAINT_RULES)
"""The resources of the rules, the newest version first."""


def selects_slice(rule: Object, slice_spec: Object) -> bool:
    """Return whether a rule may select devices of a slice: driver and pool are those it names."""
    selector = rule["spec"].get("deviceSelector")
    if selector is None:
        return False
    wanted = selector.get("driver"), selector.get("pool")
    known = slice_spec["driver"], slice_spec["pool"]["name"]
    return all(name in (None, own) for name, own in zip(wanted, known, strict=True))


def with_taints(piece: Object, rules: Iterable[Object], classes: Mapping[str, Object]) -> Object:
    """Return a slice with the taints of all rules that may select devices of it, in their order.

    Devices that no rule selects stay the same objects. `classes` maps names to DeviceClasses.
    """
    chosen = list(rules)
    if not chosen or not piece["spec"].get("devices"):
        return piece
    driver = piece["spec"]["driver"]
    devices = [_tainted(driver, device, chosen, classes) for device in piece["spec"]["devices"]]
    return {**piece, "spec": {**piece["spec"], "devices": devices}}


def names_class(rule: Object) -> bool:
    return bool((rule["spec"].get("deviceSelector") or {}).get("deviceClassName"))


def _tainted(
    driver: str, device: Object, rules: Sequence[Object], classes: Mapping[str, Object]
) -> Object:
    added = [
        rule["spec"]["taint"]
        for rule in rules
        if _selects(rule["spec"].get("deviceSelector") or {}, driver, device, classes)
    ]
    if not added:
        return device
    return {**device, "taints": [*(device.get("taints") or ()), *added]}


def _selects(selector: Object, driver: str, device: Object, classes: Mapping[str, Object]) -> bool:
    if selector.get("device") not in (None, device["name"]):
        return False
    listed = list(selector.get("selectors") or ())
    if class_name := selector.get("deviceClassName"):
        if class_name not in classes:
            return False
        listed += classes[class_name]["spec"].get("selectors") or ()
    texts = (item["cel"]["expression"] for item in listed if item.get("cel"))
    return all(_accepts(text, driver, device) for text in texts)


def _accepts(text: str, driver: str, device: Object) -> bool:
    """Return whether a CEL selector accepts the device; as upstream, one that fails does not."""
    try:
        return cel_selectors.compiled(text).matches(driver, device)
    except cel_selectors.SelectorError:
        return False
