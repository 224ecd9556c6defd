"""Reads a log that a cloud exported as one document: JSON with a list of entries, or CSV."""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator

import msgspec

PIECES_MAX = 256
"""Most pieces of a document, which is read at once; what follows is left out."""
TEXTS = ("Message", "log_s", "message", "log", "textPayload")
"""Names of the text in Azure, AWS and Google Cloud."""
_JSON = re.compile(rb'\s*(?:\[\s*\{|\{\s*\n|\{\s*"(?:events|records)")')
_CSV = re.compile(rb"[^\n{]*\b(?:TimeGenerated|log_s)\b[^\n{]*\n")
_TEXT = re.compile(rb'"(?:%b)":\s*("(?:[^"\\]|\\.)+")' % "|".join(TEXTS).encode())
_TIME = re.compile(r"[IWEF](\d{4} \d\d:\d\d:\d\d\.\d+)")


def lines(pieces: Iterator[bytes]) -> Iterable[bytes]:
    """Return the pieces as they are, or the lines of the log in them, the oldest first."""
    first = next(pieces, b"")
    read = _of_json if _JSON.match(first) else _of_csv if _CSV.match(first) else None
    if read is None:
        return itertools.chain([first], pieces)
    content = first + b"".join(itertools.islice(pieces, PIECES_MAX))
    texts = list(read(content))
    times = [found[1] for found in map(_TIME.search, texts) if found]
    ordered = texts[::-1] if times and times[-1] < times[0] else texts
    return ["".join(f"{text.rstrip()}\n" for text in ordered).encode(errors="replace") or content]


def _of_json(content: bytes) -> Iterator[str]:
    return (msgspec.json.decode(found, type=str) for found in _TEXT.findall(content))


def _of_csv(content: bytes) -> Iterator[str]:
    rows = csv.DictReader(content.decode(errors="replace").splitlines(keepends=True))
    return (next((row[key] for key in TEXTS if row.get(key)), "") for row in rows)
