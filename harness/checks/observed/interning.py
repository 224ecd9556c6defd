"""Parts of objects that come again and again are decoded, or looked at, once.

Most claims come from templates and their devices are allocated again and again, so that thousands
of objects have the same spec or allocation, byte for byte. They share one decoded part, which is
never changed; values that depend on the part alone are then kept by its identity.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

BYTES_MAX = 2**23
"""JSON of the parts that are kept; when there is more, all are forgotten."""
PARTS_MAX = 2**14
"""Parts whose derived values are kept; when there are more, all are forgotten."""
Part = TypeVar("Part")
Value = TypeVar("Value")


class DecodedParts(dict[bytes, Part]):
    """Parts of one type by their JSON; raises what `decode` raises."""

    def __init__(self, decode: Callable[[bytes], Part]) -> None:
        super().__init__()
        self._decode = decode
        self._size = 0

    def __missing__(self, content: bytes) -> Part:
        part = self._decode(content)
        self._size += len(content)
        if self._size > BYTES_MAX:
            self.clear()
            self._size = len(content)
        self[content] = part
        return part


class DerivedValues(Generic[Part, Value]):
    """Values that are made from parts, kept by the identity of the part."""

    def __init__(self, make: Callable[[Part], Value]) -> None:
        self._make = make
        self._known: dict[int, tuple[Part, Value]] = {}
        """Identity of a part -> the part, so that it stays the only one with this identity."""

    def of(self, part: Part) -> Value:
        known = self._known.get(id(part))
        if known is not None:
            return known[1]
        if len(self._known) >= PARTS_MAX:
            self._known.clear()
        value = self._make(part)
        self._known[id(part)] = part, value
        return value
