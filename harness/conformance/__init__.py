"""Conformance tests: check that a DRA driver follows the rules that Kubernetes documents.

The driver is called through its sockets as a kubelet does. The rules are data (`rules.yaml`), and
each has a function of its name in `groups`. A run has an API server of its own, and nothing outside
its temporary folder is touched.

Nothing of our own driver belongs here, because it is one of those that are tested.
"""
