"""JSON: the type of decoded objects, the encoder and the decoder, and packed files."""

import pkgutil
import zlib
from typing import Any

import msgspec

Document = dict[str, Any]
"""A decoded JSON object with the API's own field names."""
TOO_DEEP = "exceeded max depth"
"""The message for JSON that is nested too deep."""
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def packed(package: str, name: str) -> bytes:
    """Return the JSON in a compressed data file of a package."""
    data = pkgutil.get_data(package, name)
    if data is None:
        raise FileNotFoundError(name)
    return zlib.decompress(data, wbits=16 + zlib.MAX_WBITS)


def encode(document: object) -> bytes:
    """Encode a document as compact JSON, in bytes of exact size."""
    return _encoder.encode(document)


def decode(data: bytes) -> Any:
    """Decode JSON. Raises msgspec.DecodeError or UnicodeDecodeError if it is malformed."""
    return _decoder.decode(data)
