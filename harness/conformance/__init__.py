"""Conformance tests: check that a DRA driver follows the rules that Kubernetes documents.

`drivers` has the rules; their weights and results are here. The drivers that are tested do not
belong here.
"""
