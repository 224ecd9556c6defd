"""The JSON encoder and decoder of the server."""

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()
TOO_DEEP = "exceeded max depth"
"""The message for JSON that is nested too deep."""


def encode(document: object) -> bytes:
    """Encode a document as compact JSON, in bytes of exact size."""
    return _encoder.encode(document)


def decode(data: bytes) -> Any:
    """Decode JSON. Raises msgspec.DecodeError or UnicodeDecodeError if it is malformed."""
    return _decoder.decode(data)
