"""Objects of every kind that an import takes, with every part that it reads."""

from collections.abc import Iterator
from typing import Any

import yaml

_TEXT = """
apiVersion: v1
kind: Node
metadata: {name: n, labels: {kubernetes.io/hostname: n, rack: r}}
spec: {taints: [{key: a, effect: NoSchedule}]}
status: {allocatable: {cpu: "8"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example
  nodeName: n
  pool: {name: n, generation: 1, resourceSliceCount: 1}
  devices:
    - name: x
      attributes: {uuid: {string: "a"}, roots: {strings: ["pci0000:1f"]}, index: {int: 1}}
      capacity: {memory: {value: 1Gi}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: net}
spec:
  driver: d.example
  perDeviceNodeSelection: true
  pool: {name: net, generation: 1, resourceSliceCount: 1}
  devices:
    - name: y
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: rack, operator: In, values: [r]}], matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: c}
spec:
  extendedResourceName: d.example/x
  selectors: [{cel: {expression: "device.driver == 'd.example'"}}]
  config: [{opaque: {driver: d.example, parameters: {a: b}}}]
---
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: r}
spec: {deviceSelector: {driver: d.example, pool: n, device: x}, taint: {key: a, effect: NoSchedule}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: k}
spec:
  devices:
    requests: [{name: a, firstAvailable: [{name: b, deviceClassName: c, selectors: [{cel: {expression: "true"}}]}]}]
    config: [{requests: [a], opaque: {driver: d.example, parameters: {a: {b: [1]}}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: c}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: p}}
spec:
  nodeSelector: {rack: r}
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: rack, operator: In, values: [r]}]}]}}}
  initContainers: [{name: i, image: i, resources: {claims: [{name: k}]}}]
  containers: [{name: m, image: i, resources: {claims: [{name: t}], limits: {cpu: 1, d.example/x: 1}}}]
  resourceClaims: [{name: k, resourceClaimName: k}, {name: t, resourceClaimTemplateName: t}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: m, image: i, resources: {claims: [{name: t}]}}], resourceClaims: [{name: t, resourceClaimTemplateName: t}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: j}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      completions: 2
      parallelism: 1
      template: {spec: {restartPolicy: Never, containers: [{name: m, image: i}], resourceClaims: [{name: t, resourceClaimTemplateName: t}]}}
"""


def objects() -> Iterator[dict[str, Any]]:
    """Yield the objects, new ones each time."""
    yield from yaml.safe_load_all(_TEXT)
