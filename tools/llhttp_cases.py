"""Convert the request tests of llhttp to tests/unit/apiserver/server/http/llhttp.json.

    python tools/llhttp_cases.py llhttp/test/request > tests/unit/apiserver/server/http/llhttp.json

The directory is in the source distributions of aiohttp, as vendor/llhttp/test/request. Tests of
lenient modes and of pausing are omitted, because the server has neither. Escapes are resolved as in
llhttp's own test/md-test.ts.
"""

import json
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

_CASE = re.compile(
    r"^#+ (?P<name>[^\n]+)\n(?:(?!^#).)*?<!-- meta=(?P<meta>\{.*?\}) -->\s*"
    r"```http\n(?P<text>.*?)```(?:(?!```).)*```log\n(?P<log>.*?)```",
    re.MULTILINE | re.DOTALL,
)
_PAUSES = {21, 22}
"""Error codes of a pause, which is not an error: an upgrade begins."""


def main() -> None:
    """Print the cases as JSON."""
    folder = pathlib.Path(sys.argv[1])
    cases = [case for path in sorted(folder.glob("*.md")) for case in _cases(path)]
    json.dump(cases, sys.stdout, indent=1)
    print()


def _cases(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    for match in _CASE.finditer(path.read_text(encoding="utf-8")):
        meta, log = json.loads(match["meta"]), match["log"]
        if meta["type"] != "request" or "pause" in meta or "skipBody" in meta:
            continue
        errors = [int(code) for code in re.findall(r"error code=(\d+)", log)]
        yield {
            "name": f"{path.stem}: {match['name']}",
            "text": _unescape(match["text"]),
            "messages": log.count(" message complete"),
            "fails": bool(set(errors) - _PAUSES),
        }


def _unescape(text: str) -> str:
    """Return the bytes of a request, as Latin-1."""
    text = text.encode().decode("latin-1").removesuffix("\n")
    text = re.sub(r"\\\n", "", text).replace("\n", "\r\n")
    for escape, character in ((r"\r", "\r"), (r"\n", "\n"), (r"\t", "\t"), (r"\f", "\f")):
        text = text.replace(escape, character)
    text = re.sub(r"\\x([0-9a-fA-F]+)", lambda match: chr(int(match[1], 16)), text)
    return re.sub(r"\\([0-7]{1,3})", lambda match: chr(int(match[1], 8)), text)


if __name__ == "__main__":
    main()
