"""The store and what each write does: strategies, preconditions, validation, conversion, deletion.

`store` is pure and synchronous: every method is one atomic step without I/O, threads or a clock.
HTTP, content types and faults do not belong here; stored objects and their history are in
`storage`.

After k8s.io/apiserver/pkg/registry.
"""
