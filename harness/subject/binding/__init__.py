"""PreBind: the claims of a pod are written, and its devices are waited for, before it is bound.

It is called on the binding threads. These do not belong here (`scheduling.binding_cycle`), nor does
the choice of node and devices.
"""
