"""CEL device selectors: compilation, type checking, cost estimation.

After k8s.io/dynamic-resource-allocation/cel. The server only decides whether an expression may be
stored; evaluating it is the work of the scheduler under test and does not belong here.
"""
