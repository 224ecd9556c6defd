"""Validation of objects, with the order and the wording of kube-apiserver's field errors.

A rule is a function of a document, or of the new and the old document for updates, that yields
field errors. `registry.strategies` selects the rules of a kind.

Rules change nothing and read no store. They never compare claims with each other: two claims that
hold one device are valid here, because finding them is what this project is for.

Validated: the kinds of resource.k8s.io, pods, nodes, namespaces, leases, events, config maps,
secrets and priority classes. Of other kinds only the metadata is validated. The CEL cost estimate
omits some special cases of kube-apiserver's, so near the limit of one million the two may disagree.
"""
