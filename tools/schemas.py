"""Make the schema data of the embedded API server from the published OpenAPI definitions of Kubernetes.

    python tools/schemas.py _definitions.json harness/apiserver

The input is a JSON document whose "$defs" are the definitions of Kubernetes' swagger.json with their x-kubernetes-* marks; the
package kubernetes-validate ships one for each release (kubernetes_validate/kubernetes-json-schema/v1.36.0-local/_definitions.json).
Definitions: Copyright The Kubernetes Authors, Apache License 2.0.

Written are schemas.json.gz (structure) and descriptions.json.gz (texts, for OpenAPI documents only). Added is what OpenAPI
version 2 does not tell: which fields Go encodes although nobody set them (`x-go-always`).
"""

import gzip
import json
import pathlib
import sys
from typing import Any

Node = dict[str, Any]

VALUE_STRUCTS = """
apps.v1.ControllerRevision data
apps.v1.DaemonSetCondition lastTransitionTime
apps.v1.DaemonSetSpec updateStrategy
apps.v1.DeploymentCondition lastTransitionTime lastUpdateTime
apps.v1.DeploymentSpec strategy
apps.v1.ReplicaSetCondition lastTransitionTime
apps.v1.ReplicaSetSpec template
apps.v1.StatefulSetCondition lastTransitionTime
apps.v1.StatefulSetSpec updateStrategy
authentication.v1.SelfSubjectReviewStatus userInfo
authentication.v1.TokenReviewStatus user
autoscaling.v2.HorizontalPodAutoscalerCondition lastTransitionTime
batch.v1.JobCondition lastProbeTime lastTransitionTime
certificates.v1.CertificateSigningRequestCondition lastTransitionTime lastUpdateTime
core.v1.Container resources
core.v1.ContainerStateRunning startedAt
core.v1.ContainerStateTerminated finishedAt startedAt
core.v1.ContainerStatus lastState state
core.v1.EphemeralContainer resources
core.v1.Event eventTime firstTimestamp lastTimestamp source
core.v1.EventSeries lastObservedTime
core.v1.NamespaceCondition lastTransitionTime
core.v1.NodeCondition lastHeartbeatTime lastTransitionTime
core.v1.NodeDaemonEndpoints kubeletEndpoint
core.v1.NodeStatus daemonEndpoints nodeInfo
core.v1.PersistentVolumeClaimCondition lastProbeTime lastTransitionTime
core.v1.PersistentVolumeClaimSpec resources
core.v1.PodCondition lastProbeTime lastTransitionTime
core.v1.PodTemplate template
core.v1.ReplicationControllerCondition lastTransitionTime
core.v1.ResourceFieldSelector divisor
core.v1.ServicePort targetPort
core.v1.ServiceStatus loadBalancer
discovery.v1.Endpoint conditions
events.v1.Event deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedSource regarding
networking.v1.IngressServiceBackend port
networking.v1.IngressStatus loadBalancer
networking.v1.NetworkPolicySpec podSelector
resource.v1.AllocationResult devices
resource.v1.ResourceClaimSpec devices
storage.v1.VolumeError time
"""
"""Optional fields that hold a struct and not a pointer to one: `omitempty` never omits those."""

NO_OMITEMPTY = """
core.v1.Event reportingComponent reportingInstance
rbac.v1.ClusterRole rules
rbac.v1.Role rules
"""
"""Optional fields that are encoded when they are empty, because their tag does not say `omitempty`."""

REQUIRED_POINTERS = """
apps.v1.DaemonSetSpec selector
apps.v1.DeploymentSpec selector
apps.v1.ReplicaSetSpec selector
apps.v1.StatefulSetSpec selector
"""
"""Required fields that hold a pointer: null when nobody set them."""

OMITTED = """
"""
"""Required fields that are left out when they are empty."""

_PREFIX = "io.k8s.api."
_REF = "#/$defs/"
_VALUE_BY_CONVENTION = ("metadata", "spec", "status")
_KEPT = ("type", "format", "required")


def main(source: str, target: str) -> None:
    """Read the definitions at source, write the two data files into the folder target."""
    definitions = json.loads(pathlib.Path(source).read_text())["$defs"]
    always = _always_table()
    structure = {name: _definition(name, node, always) for name, node in definitions.items()}
    _write(pathlib.Path(target, "schemas.json.gz"), structure)
    descriptions = {name: _descriptions(node) for name, node in definitions.items()}
    _write(pathlib.Path(target, "descriptions.json.gz"), descriptions)


def _always_table() -> dict[tuple[str, str], str]:
    tables = {"value": VALUE_STRUCTS, "null": REQUIRED_POINTERS, "empty": NO_OMITEMPTY, "": OMITTED}
    return {
        (_PREFIX + line.split()[0], field): how
        for how, table in tables.items()
        for line in table.strip().splitlines()
        for field in line.split()[1:]
    }


def _definition(name: str, node: Node, always: dict[tuple[str, str], str]) -> Node:
    made = _shape(node)
    required = node.get("required", [])
    for field, child in node.get("properties", {}).items():
        shape = made.setdefault("properties", {})[field] = _shape(child)
        by_convention = field in _VALUE_BY_CONVENTION and "$ref" in child
        how = "value" if field in required or by_convention else ""
        if how := always.get((name, field), how):
            shape["x-go-always"] = how
    return made


def _shape(node: Node) -> Node:
    """A node without texts, without the nulls and the kinds that the JSON schema was enriched with."""
    made = {key: node[key] for key in _KEPT if key in node}
    made.update({key: value for key, value in node.items() if key.startswith("x-")})
    if isinstance(made.get("type"), list):
        made["type"] = made["type"][0]
    if "$ref" in node:
        made["$ref"] = node["$ref"].removeprefix(_REF)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            made[key] = _shape(node[key])
    return made


def _descriptions(node: Node) -> dict[str, str]:
    fields = {
        name: child["description"]
        for name, child in node.get("properties", {}).items()
        if "description" in child
    }
    return {"": node.get("description", ""), **fields}


def _write(path: pathlib.Path, document: Node) -> None:
    data = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    print(f"{path}: {len(document)} definitions, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
