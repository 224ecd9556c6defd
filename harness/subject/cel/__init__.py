"""The evaluation of CEL on devices.

The binding of Google's C++ implementation, which `harness.cel` checks expressions with, cannot hold
quantities, versions or addresses as values, dispatch a function on an attribute whose type is known
only at run time, give an empty map for a missing domain, or stop an expression that costs too much;
so the checked syntax tree is evaluated in Python. Known differences from upstream: timestamps have
microseconds; `find` is Python's (see `library.patterns`); syntax errors are in the C++ parser's
words, and it nests 32 levels (upstream: 250). As upstream, devices have no `authorizer`.
"""
