"""Validation of objects, as kube-apiserver does it, in words of our own.

Most of a kind is a table: paths, and the rules for what is there (see `rules`). A rule that
depends on several fields, or on the object as it was, is a function. `registry.strategies` selects
the rules of a kind.

Rules change nothing and read no store. They never compare claims with each other: two claims that
hold one device are valid here, because finding them is what this project is for.

Validated: the kinds of resource.k8s.io, pods, nodes, namespaces, leases, events, config maps and
pod groups. Of other kinds only the metadata is validated. The cost of CEL selectors is not
estimated: the scheduler limits it.
"""
