"""How a call of the protocol fails: with a code and a message."""


class CallError(Exception):
    """A call failed as a whole; the caller does not know what the other side has done."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        """gRPC's name: `UNAVAILABLE`, `DEADLINE_EXCEEDED`, `UNIMPLEMENTED`, `INTERNAL`, …"""
        self.message = message
