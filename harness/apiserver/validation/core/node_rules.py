"""Nodes: taints, capacity, pod CIDRs."""

from collections.abc import Iterator

from harness.apiserver.codec import go_values
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats, resource_requirements

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNIQUE = "taints must be unique by key and effect pair"


def node(document: Document) -> Iterator[Cause]:
    """Validate a node."""
    # kube-apiserver reports taints at `metadata.taints`.
    spec, status = document.get("spec") or {}, document.get("status") or {}
    yield from _taints(spec.get("taints") or [], "metadata.taints")
    for key in ("capacity", "allocatable"):
        for name, amount in (status.get(key) or {}).items():
            yield from resource_requirements.amount(name, amount, f"status.{key}.{name}")
    yield from _pod_cidrs(spec.get("podCIDRs") or [], "spec.podCIDRs")


def node_change(document: Document, old: Document) -> Iterator[Cause]:
    """Validate an updated node. Like kube-apiserver, report wrong taints twice."""
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    yield from node(document)
    yield from _taints(spec.get("taints") or [], "metadata.taints")
    known = before.get("podCIDRs") or []
    if known and (spec.get("podCIDRs") or []) != known:
        why = 'node updates may not change podCIDR except from "" to valid'
        yield field_errors.forbidden("spec.podCIDRs", why)
    if (provider := before.get("providerID")) and (spec.get("providerID") or "") != provider:
        why = 'node updates may not change providerID except from "" to valid'
        yield field_errors.forbidden("spec.providerID", why)


def _pod_cidrs(cidrs: list[str], at: str) -> Iterator[Cause]:
    """Validate pod CIDRs: at most one of each IP family."""
    for index, value in enumerate(cidrs):
        yield from formats.check(f"{at}[{index}]", value, formats.cidr)
    if len(cidrs) < 2:
        return
    if len(cidrs) > 2 or len({":" in value for value in cidrs}) == 1:
        why = "may specify no more than one CIDR for each IP family"
        yield field_errors.invalid(at, cidrs, why)
    yield from field_rules.duplicates(cidrs, at)


def _taints(taints: list[Document], at: str) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        yield from _taint(taint, f"{at}[{index}]")
        key = (taint.get("key") or "", taint.get("effect") or "")
        if key in seen:
            shown = go_values.struct("Taint", taint)
            yield field_errors.duplicate_because(f"{at}[{index}]", shown, _UNIQUE)
            return
        seen.add(key)


def _taint(taint: Document, at: str) -> Iterator[Cause]:
    yield from formats.check(f"{at}.key", taint.get("key") or "", formats.qualified_name)
    yield from formats.check(f"{at}.value", taint.get("value") or "", formats.label_value)
    effect = taint.get("effect") or ""
    if not effect:
        yield field_errors.required(f"{at}.effect")
    elif effect not in _EFFECTS:
        yield field_errors.unsupported(f"{at}.effect", effect, _EFFECTS)
