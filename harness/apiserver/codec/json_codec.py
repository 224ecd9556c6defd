"""JSON as the server keeps and sends it: exact-size bytes, decoded to plain values."""

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(document: object) -> bytes:
    """Exact-size JSON bytes."""
    return _encoder.encode(document)


def decode(data: bytes) -> Any:
    """Decoded JSON; msgspec.DecodeError or UnicodeDecodeError for what is not JSON."""
    return _decoder.decode(data)
