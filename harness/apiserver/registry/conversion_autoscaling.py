"""Horizontal pod autoscalers of autoscaling/v1, which knows the CPU only, as those of v2, which are stored, and back.

What v1 has no fields for is kept in annotations while a v1 client has the object, so that it loses nothing by writing it back.
"""

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.scheme.json_document import Document

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_KEPT = (
    ("spec", "metrics", f"{_PREFIX}metrics"),
    ("spec", "behavior", f"{_PREFIX}behavior"),
    ("status", "currentMetrics", f"{_PREFIX}current-metrics"),
    ("status", "conditions", f"{_PREFIX}conditions"),
)


def to_metrics(document: Document) -> None:
    """From v1 to v2, in place."""
    _take_back(document)
    spec, status = document.get("spec") or {}, document.get("status") or {}
    wanted = spec.pop("targetCPUUtilizationPercentage", None)
    if wanted is not None:
        target = {"type": "Utilization", "averageUtilization": wanted}
        spec.setdefault("metrics", []).insert(0, _cpu(target=target))
    seen = status.pop("currentCPUUtilizationPercentage", None)
    if seen is not None:
        status.setdefault("currentMetrics", []).insert(
            0, _cpu(current={"averageUtilization": seen})
        )


def to_percentages(document: Document) -> None:
    """From v2 to v1, in place."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    wanted = _taken_cpu(spec, "metrics", "target")
    if wanted is not None:
        spec["targetCPUUtilizationPercentage"] = wanted
    seen = _taken_cpu(status, "currentMetrics", "current")
    if seen is not None:
        status["currentCPUUtilizationPercentage"] = seen
    for part, field, annotation in _KEPT:
        if value := (document.get(part) or {}).pop(field, None):
            annotations = document["metadata"].setdefault("annotations", {})
            annotations[annotation] = json_codec.encode(value).decode()


def _cpu(**figures: Document) -> Document:
    return {"type": "Resource", "resource": {"name": "cpu", **figures}}


def _taken_cpu(part: Document, field: str, figure: str) -> int | None:
    """The utilization of the CPU, taken out of the metrics; None when there is none."""
    for metric in part.get(field) or ():
        resource = metric.get("resource") or {}
        value = (resource.get(figure) or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and value is not None:
            part[field] = [other for other in part[field] if other is not metric]
            return int(value)
    return None


def _take_back(document: Document) -> None:
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    for part, field, annotation in _KEPT:
        text = annotations.pop(annotation, None)
        if text is None:
            continue
        try:
            document.setdefault(part, {})[field] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            annotations[annotation] = text  # it is none of ours
    if not annotations:
        (document.get("metadata") or {}).pop("annotations", None)
