"""Inputs that users had, as an import reads them: files by name."""

import pathlib

NEWER_SLICES = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-a, managedFields: [{manager: x, operation: Update}]}
spec:
  driver: gpu.example.org
  nodeName: n1
  partitionTypeAttribute: gpu.example.org/profile
  skipNodeOperations: ["*"]
  pool: {name: n1, generation: 3, resourceSliceCount: 2}
  devices:
  - name: p0
    attributes: {profile: {string: 1g}, numa: {ints: [0, 1]}}
    consumesCounters: [{counterSet: c0, counters: {mem: {value: 10Gi}}, compatibilityGroups: [a]}]
    nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "2"}}}
    compatibilityGroups: [a]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-b}
spec:
  driver: gpu.example.org
  nodeName: n1
  pool: {name: n1, generation: 3, resourceSliceCount: 2}
  sharedCounters: [{name: c0, counters: {mem: {value: 80Gi}}}]
"""
DEVICES = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-a-gpu}
spec:
  driver: gpu.example.org
  nodeName: node-a
  pool: {name: node-a, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.org}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.org'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: ml}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.org}}]}}}
"""
PODS = (
    "{restartPolicy: Never, containers: [{name: c, image: i, resources: {claims: [{name: g}]}}], "
    "resourceClaims: [{name: g, resourceClaimTemplateName: one-gpu}]}"
)


def workload(kind: str, name: str, spec: str, *, version: str = "apps/v1", owner: str = "") -> str:
    """Return a document; `owner`: the `Kind name` of what has made the object."""
    made_by = ""
    if owner:
        of_kind, of_name = owner.split()
        made_by = (
            f", ownerReferences: [{{apiVersion: v1, kind: {of_kind}, name: {of_name}, uid: u}}]"
        )
    metadata = f"{{name: {name}, namespace: ml{made_by}}}"
    return f"\n---\napiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"


def written(folder: pathlib.Path, *documents: str) -> list[pathlib.Path]:
    """Return the file with the documents."""
    path = folder / "input.yaml"
    path.write_text("".join(documents))
    return [path]
