"""The binding cycle: what happens to a pod once it has reserved devices.

Each such pod has a thread of its own, which writes the claims (PreBind) and the binding of the pod,
or undoes the reservation. The choice of node and devices does not belong here: the scheduling
thread makes it.

Contents: `binding_conditions`, `binding_cycle`, `claim_binding`, `nominations`.
"""
