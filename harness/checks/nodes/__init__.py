"""Checks at node level: what the kubelets and their driver did with claims.

Their journals are a second witness. No check relies on them alone: a violation is one only if the
recorded API objects agree.

Contents: `container_parameters`, `extended_claims`, `prepared_devices`.
"""
