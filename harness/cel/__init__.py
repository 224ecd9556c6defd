"""CEL as device selectors use it: the declarations of Kubernetes 1.36, and checked syntax trees.

Google's C++ implementation parses an expression and checks its types; its Python binding hands out
the checked tree as bytes. Not in here: what an expression may cost, which the API server estimates,
and its evaluation, which belongs to the scheduler. The judge has its own CEL and imports none of
this.
"""
