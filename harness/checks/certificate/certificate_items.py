"""An item of the certificate: a question about the evidence of a run, and its answer."""

import msgspec


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question about the evidence and its answer."""

    name: str
    question: str
    ok: bool
    reason: str
    """The answer as text, with figures."""
    needed: bool = True
    """False if the verdict needs no yes: a violation ended the run before its planned end."""
