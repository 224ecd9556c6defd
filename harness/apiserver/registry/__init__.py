"""The store and what each write does: strategies, preconditions, validation, conversion, deletion, binding. After k8s.io/apiserver/pkg/registry.

`store` is pure and synchronous: every method is one atomic step without I/O, threads or a clock of its own. HTTP, content types
and faults do not belong here; the kept objects and their history are in `storage`.
"""
