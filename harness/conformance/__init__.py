"""Conformance tests: check that a part of a cluster follows the rules that Kubernetes documents.

`api` has those of an API server, `drivers` those of a DRA driver. Weights and results of rules are
here. The parts that are tested do not belong here.
"""
