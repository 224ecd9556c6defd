"""Threads of a Go program, stopped and held at its functions. Linux only.

The program is a child of a tracer, a process of its own, which ptrace(2) lets stop one thread while
the others run on. Nothing of Kubernetes is known here: which places matter is the caller's choice.
"""
