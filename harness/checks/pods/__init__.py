"""The checks of pods: a pod that a scheduler has bound can use its claims on its node.

The devices of the claims do not belong here (see `devices`), nor what kubelets do with them (see
`nodes`), nor whether a pod comes to run (see `progress`).
"""
