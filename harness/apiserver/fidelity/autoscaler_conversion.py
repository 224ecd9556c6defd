"""Frozen: no new code. HorizontalPodAutoscalers of autoscaling/v1, converted to v2 and back.

Objects are stored in v2. Version v1 has fields for the CPU only; the other metrics are in
annotations of the v1 object, so that a v1 client that writes it back loses none of them. After
k8s.io/kubernetes/pkg/apis/autoscaling/v1/conversion.go.
"""

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.scheme.json_document import Document

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_ANNOTATED = (
    ("spec", "metrics", f"{_PREFIX}metrics"),
    ("spec", "behavior", f"{_PREFIX}behavior"),
    ("status", "currentMetrics", f"{_PREFIX}current-metrics"),
    ("status", "conditions", f"{_PREFIX}conditions"),
)


def to_metrics(document: Document) -> None:
    """Convert from v1 to v2, in place."""
    _restore_from_annotations(document)
    spec, status = document.get("spec") or {}, document.get("status") or {}
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        spec.setdefault("metrics", []).insert(0, _cpu(target=target))
    current = status.pop("currentCPUUtilizationPercentage", None)
    if current is not None:
        status.setdefault("currentMetrics", []).insert(
            0, _cpu(current={"averageUtilization": current})
        )


def to_percentages(document: Document) -> None:
    """Convert from v2 to v1, in place."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    target = _pop_cpu(spec, "metrics", "target")
    if target is not None:
        spec["targetCPUUtilizationPercentage"] = target
    current = _pop_cpu(status, "currentMetrics", "current")
    if current is not None:
        status["currentCPUUtilizationPercentage"] = current
    for part, field, annotation in _ANNOTATED:
        if value := (document.get(part) or {}).pop(field, None):
            annotations = document["metadata"].setdefault("annotations", {})
            annotations[annotation] = json_codec.encode(value).decode()


def _cpu(**figures: Document) -> Document:
    return {"type": "Resource", "resource": {"name": "cpu", **figures}}


def _pop_cpu(part: Document, field: str, figure: str) -> int | None:
    """Remove the utilization of the CPU from the metrics and return it; None if there is none."""
    for metric in part.get(field) or ():
        resource = metric.get("resource") or {}
        value = (resource.get(figure) or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and value is not None:
            part[field] = [other for other in part[field] if other is not metric]
            return int(value)
    return None


def _restore_from_annotations(document: Document) -> None:
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    for part, field, annotation in _ANNOTATED:
        text = annotations.pop(annotation, None)
        if text is None:
            continue
        try:
            document.setdefault(part, {})[field] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            annotations[annotation] = text  # another client's annotation of this name
    if not annotations:
        (document.get("metadata") or {}).pop("annotations", None)
