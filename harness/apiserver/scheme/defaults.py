"""The defaults of the API's types, as data and small functions.

`CONSTANTS` are defaults of single fields. `RULES` set defaults that depend on other fields; the
rule of a type runs after the constants of that type and after all defaults of the objects within
it. Types are named like their OpenAPI definitions, without `io.k8s.api.`; types of other versions,
and of kinds that neither schedulers nor kubelets read, have no defaults.

After the `defaults.go` of each group in k8s.io/kubernetes/pkg/apis.
"""

import base64
import copy
import functools
from collections.abc import Callable
from typing import Any

from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import api_types

Rule = Callable[[Document], None]
MODE = 0o644
"""File mode of the files in a volume."""

CONSTANTS: dict[str, Document] = {
    "core.v1.ConfigMapVolumeSource": {"defaultMode": MODE},
    "core.v1.Container": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    "core.v1.ContainerPort": {"protocol": "TCP"},
    "core.v1.DownwardAPIVolumeSource": {"defaultMode": MODE},
    "core.v1.GRPCAction": {"service": ""},
    "core.v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.v1.HostPathVolumeSource": {"type": ""},
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    },
    "core.v1.Probe": {
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    },
    "core.v1.ProjectedVolumeSource": {"defaultMode": MODE},
    "core.v1.Secret": {"type": "Opaque"},
    "core.v1.SecretVolumeSource": {"defaultMode": MODE},
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "resource.v1.DeviceSubRequest": {"allocationMode": "ExactCount"},
    "resource.v1.DeviceToleration": {"operator": "Equal"},
    "resource.v1.ExactDeviceRequest": {"allocationMode": "ExactCount"},
    "scheduling.v1alpha2.PodGroupSpec": {"disruptionMode": "Pod"},
    "scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}


def pull_policy(image: str) -> str:
    """Return `Always` for the tag `latest`, given or implied, and `IfNotPresent` otherwise."""
    _, _, tag = image.rpartition("/")[2].partition(":")
    return "Always" if image and "@" not in image and tag in ("", "latest") else "IfNotPresent"


def _container(container: Document) -> None:
    container["imagePullPolicy"] = container.get("imagePullPolicy") or pull_policy(
        container.get("image", "")
    )


def _empty_volume(volume: Document) -> None:
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}


def _pod(pod: Document) -> None:
    spec = pod["spec"]
    spec.setdefault("enableServiceLinks", True)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        if limits := resources.get("limits"):  # requests that are missing equal their limits
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port["hostPort"] = port.get("hostPort") or port.get("containerPort", 0)


def _pod_spec(spec: Document) -> None:
    """Copy the service account's name between its new and its deprecated field."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _node_status(status: Document) -> None:
    if status.get("capacity") and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def _pod_status(status: Document) -> None:
    """Copy the first address between `podIP` and `podIPs`; `podIP` wins if they differ."""
    addresses, single = status.get("podIPs"), status.get("podIP")
    if single and (not addresses or addresses[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif addresses:
        status["podIP"] = addresses[0].get("ip", "")


def _namespace(namespace: Document) -> None:
    meta = namespace["metadata"]
    if name := meta.get("name"):
        meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = name


def _secret(secret: Document) -> None:
    """Move the write-only `stringData` to `data`."""
    for key, text in (secret.pop("stringData", None) or {}).items():
        secret.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()


def _device_count(request: Document) -> None:
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1


RULES: dict[str, Rule] = {
    "core.v1.Container": _container,
    "core.v1.Namespace": _namespace,
    "core.v1.NodeStatus": _node_status,
    "core.v1.Pod": _pod,
    "core.v1.PodSpec": _pod_spec,
    "core.v1.PodStatus": _pod_status,
    "core.v1.Secret": _secret,
    "core.v1.Volume": _empty_volume,
    "resource.v1.DeviceSubRequest": _device_count,
    "resource.v1.ExactDeviceRequest": _device_count,
}


Filler = Callable[[Any], None]


def fill(kind: api_types.Type, document: Document) -> None:
    """Set the defaults of an object's unset fields, in place."""
    if (filler := _filler(kind)) is not None:
        filler(document)


@functools.cache
def _filler(kind: api_types.Type) -> Filler | None:
    """Return the function that sets the defaults of a value, None for types without defaults."""
    if kind.item is None:
        return _object_filler(kind)
    if (fill_item := _filler(kind.item)) is None:
        return None

    def fill_each(value: Any) -> None:
        for item in value.values() if kind.kind == "map" else value:
            fill_item(item)

    return fill_each


def _object_filler(kind: api_types.Type) -> Filler | None:
    name = kind.name.removeprefix("io.k8s.api.")
    constants, rule = CONSTANTS.get(name, {}), RULES.get(name)
    unset = {key: (None,) if kind.fields[key].pointer else (None, "") for key in constants}
    parts = [
        (field.name, filler, field.zero if field.always else None)
        for field in kind.fields.values()
        if (filler := _filler(field.type)) is not None
    ]
    if not (constants or rule or parts):
        return None

    def fill_object(value: Any) -> None:
        for name, filler, zero in parts:
            child = value.get(name)
            if child is None and zero is not None:
                child = value[name] = zero()
            if child is not None:
                filler(child)
        for name, constant in constants.items():
            if value.get(name) in unset[name]:
                value[name] = copy.copy(constant) if isinstance(constant, dict | list) else constant
        if rule is not None:
            rule(value)

    return fill_object
