"""Validation of objects: each rule is a generator of field errors, in kube-apiserver's order and wording.

`dra`, `core` and `pod` hold the rules of kinds, `field` those of single fields and metadata, `cel` those of device selectors.
Rules look at documents only: they change nothing, know no store, and never check that a device is in one claim only, since that
is what this project tests. `registry.object_validation` selects the rules of a kind.

resource.k8s.io, metadata, pods, nodes, leases, events, config maps, secrets, priority classes and namespaces are validated; other
kinds are validated for metadata only. CEL costs follow the server's model without every special case: near the limit of a
million the two may disagree.
"""
