"""Objects of older versions of resource.k8s.io in the version that the harness writes.

v1beta2 has the shape of v1. In v1beta1 a device has its fields in `basic`, and a request has no
`exactly`.
"""

from collections.abc import Callable, Mapping

from harness.manifests import sources
from harness.model.objects import Object

GROUP = "resource.k8s.io"
V1 = f"{GROUP}/v1"
RULES = f"{GROUP}/v1beta2"
"""The version of DeviceTaintRules that has no successor yet."""
_OF_REQUEST = (
    "adminAccess",
    "allocationMode",
    "capacity",
    "count",
    "deviceClassName",
    "selectors",
    "tolerations",
)


def converted(manifest: sources.Manifest) -> sources.Manifest:
    """Return the manifest in today's version; other groups stay as they are.

    Raises ManifestError for a version that is not known.
    """
    group, _, version = manifest.api_version.rpartition("/")
    if group != GROUP:
        return manifest
    is_rule = manifest.kind == "DeviceTaintRule"
    if version not in ("v1", "v1beta2", "v1beta1", *(["v1alpha3"] if is_rule else [])):
        raise manifest.error(f"expected {V1}, or v1beta2 or v1beta1, got {manifest.api_version}")
    obj = {**manifest.obj, "apiVersion": RULES if is_rule else V1}
    change = _FROM_V1BETA1.get(manifest.kind) if version == "v1beta1" else None
    return sources.Manifest(obj=change(obj) if change else obj, source=manifest.source)


def _slice(obj: Object) -> Object:
    spec = obj.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("devices"), list):
        return obj
    return {**obj, "spec": {**spec, "devices": [_device(item) for item in spec["devices"]]}}


def _device(device: Object) -> Object:
    if not isinstance(device, dict) or not isinstance(device.get("basic"), dict):
        return device
    return {**{key: device[key] for key in device if key != "basic"}, **device["basic"]}


def _claim(obj: Object) -> Object:
    return (
        {**obj, "spec": _with_requests(obj["spec"])} if isinstance(obj.get("spec"), dict) else obj
    )


def _template(obj: Object) -> Object:
    spec = obj.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("spec"), dict):
        return obj
    return {**obj, "spec": {**spec, "spec": _with_requests(spec["spec"])}}


def _with_requests(spec: Object) -> Object:
    devices = spec.get("devices")
    if not isinstance(devices, dict) or not isinstance(devices.get("requests"), list):
        return spec
    requests = [_request(item) for item in devices["requests"]]
    return {**spec, "devices": {**devices, "requests": requests}}


def _request(request: Object) -> Object:
    if not isinstance(request, dict) or "deviceClassName" not in request:
        return request
    exactly = {key: request[key] for key in _OF_REQUEST if key in request}
    return {**{key: request[key] for key in request if key not in exactly}, "exactly": exactly}


_FROM_V1BETA1: Mapping[str, Callable[[Object], Object]] = {
    "ResourceSlice": _slice,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
}
