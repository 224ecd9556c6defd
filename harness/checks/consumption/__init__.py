"""The judge of consumption: shares of devices, and counters that devices share.

It compares, version by version, what claims hold with what slices declare. Selectors, taints and
nodes do not belong here: a scheduler that ignores them wastes devices, but gives away none twice.
"""
