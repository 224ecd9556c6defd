"""CEL device selectors: compiling, type checking, cost estimation. After k8s.io/dynamic-resource-allocation/cel.

Evaluation belongs to the scheduler under test; the server only decides whether an expression may be stored.
"""
