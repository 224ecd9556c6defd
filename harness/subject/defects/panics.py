"""The panic of a goroutine, which ends a Go process; here it ends the process of the subject.

Only known defects and releases raise it. The correct code has no panics.
"""


class Panic(Exception):  # noqa: N818 - the word of Go
    """A thread of the subject cannot go on, and no part of it handles that."""


def nil_dereference(what: str) -> Panic:
    """Return the panic of Go for a pointer that is nil; `what` names what was not there."""
    return Panic(
        f"panic: runtime error: invalid memory address or nil pointer dereference ({what})"
    )
