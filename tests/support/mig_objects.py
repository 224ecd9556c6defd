"""The answer of `kubectl get resourceslices,deviceclasses -o yaml`, from a node with one GPU.

Its partitions are unequal and share two counters; a second driver has network cards for all nodes.
"""

NODE = "ip-10-0-0-7.example"
TEXT = f"""apiVersion: v1
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata:
    creationTimestamp: "2026-01-02T03:04:05Z"
    generateName: {NODE}-gpu.example.com-
    name: {NODE}-gpu.example.com-x7k2p
    ownerReferences:
    - {{apiVersion: v1, kind: Node, name: {NODE}, uid: 5b1c, controller: true}}
    resourceVersion: "4711"
    uid: 2f6c
  spec:
    driver: gpu.example.com
    nodeName: {NODE}
    pool: &pool {{name: {NODE}, generation: 3, resourceSliceCount: 2}}
    sharedCounters:
    - name: gpu-0
      counters: {{memory: {{value: 8Gi}}, engines: {{value: "4"}}}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {{name: {NODE}-gpu.example.com-z9q4d}}
  spec:
    driver: gpu.example.com
    nodeName: {NODE}
    pool: *pool
    devices:
    - name: half-0
      attributes: &half {{profile: {{string: half}}, driverVersion: {{version: 1.2.3}}}}
      consumesCounters: &of-half
      - {{counterSet: gpu-0, counters: {{memory: {{value: 4Gi}}, engines: {{value: "1"}}}}}}
    - {{name: half-1, attributes: *half, consumesCounters: *of-half}}
    - name: third-0
      attributes: {{profile: {{string: third}}, driverVersion: {{version: 1.2.3}}}}
      consumesCounters:
      - {{counterSet: gpu-0, counters: {{memory: {{value: 2Gi}}, engines: {{value: "2"}}}}}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {{name: nics}}
  spec:
    driver: nic.example.com
    allNodes: true
    pool: {{name: nics, generation: 1, resourceSliceCount: 1}}
    devices: [{{name: nic-0}}, {{name: nic-1}}]
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {{name: mig.example.com}}
  spec:
    extendedResourceName: example.com/mig
    selectors:
    - cel: {{expression: 'device.driver == "gpu.example.com"'}}
    config:
    - opaque:
        driver: gpu.example.com
        parameters: {{kind: MigConfig, sharing: {{strategy: TimeSlicing, interval: 5}}}}
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {{name: nic.example.com}}
  spec:
    selectors:
    - cel: {{expression: 'device.driver == "nic.example.com"'}}
kind: List
metadata: {{resourceVersion: ""}}
"""
POOLS = """from = ["slices.yaml"]
copies = 3
"""
CLAIMS = """
[[claims]]
[[claims.requests]]
name = "half"
class = "mig.example.com"
selectors = ['device.attributes["gpu.example.com"].profile == "half"']
[[claims]]
[[claims.requests]]
name = "third"
class = "mig.example.com"
selectors = ['device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.0.0"))']
[[claims]]
[[claims.requests]]
name = "nic"
class = "nic.example.com"
"""
