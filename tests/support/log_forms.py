"""Forms in which other programs pass on a scheduler's log: prefixes, filters, wrappers."""

import gzip
import itertools
import json
import re
from collections.abc import Callable, Iterator

Form = Callable[[str], bytes]
_MONTH = "Nov 26 06:14"


def prefixed(prefix: str) -> Form:
    """Put a prefix before each line; `{n}` is its number, `{ns}` a time in nanoseconds."""

    def form(text: str) -> bytes:
        lines = enumerate(text.splitlines(), 1)
        return "".join(
            f"{prefix.format(n=n, s=n % 60, ns=f'{n % 60:02d}.{n * 1_000:09d}')}{line}\n"
            for n, line in lines
        ).encode()

    return form


def wrapped(key: str, *, end: str = "", **more: object) -> Form:
    """Put each line into an object in JSON."""

    def form(text: str) -> bytes:
        objects = ({**more, key: line + end, "n": n} for n, line in enumerate(text.splitlines()))
        return "".join(json.dumps(item) + "\n" for item in objects).encode()

    return form


def grepped(pattern: str, *, inverted: bool = False, after: int = 0) -> Form:
    """Keep the lines that match, as `grep`, with some lines after each."""

    def form(text: str) -> bytes:
        left, kept = 0, []
        for line in text.splitlines():
            is_hit = bool(re.search(pattern, line)) is not inverted
            left = after + 1 if is_hit else left - 1
            kept += [line] if left > 0 else []
        return "".join(f"{line}\n" for line in kept).encode()

    return form


def _of_docker_in_parts(text: str) -> bytes:
    parts = itertools.chain.from_iterable(map(_parts, text.splitlines(keepends=True)))
    objects = ({"log": part, "stream": "stderr", "time": "2026-11-26T06:14:43Z"} for part in parts)
    return "".join(json.dumps(item, separators=(",", ":")) + "\n" for item in objects).encode()


def _parts(line: str) -> Iterator[str]:
    for place in range(0, len(line), 16_384):
        yield line[place : place + 16_384]


def _of_go_test(text: str) -> bytes:
    begin = json.dumps({"Action": "run", "Package": "p", "Test": "T"}) + "\n"
    body = wrapped("Output", end="\n", Time="2026-11-26T06:14:43Z", Action="output", Test="T")
    return begin.encode() + body(text)


ALL: dict[str, Form] = {
    "plain": str.encode,
    "kubectl --timestamps": prefixed("2026-12-01T10:00:{ns}Z "),
    "kubectl --prefix": prefixed("[pod/kube-scheduler-a/kube-scheduler] "),
    "kubectl --prefix --timestamps": prefixed("[pod/s-a/s] 2026-12-01T10:00:{ns}Z "),
    "journald short": prefixed(_MONTH + ":{s:02d} node-1 kube-scheduler[1234]: "),
    "journald with-unit": prefixed("Thu 2026-11-26 06:14:{s:02d} UTC n s.service[1]: "),
    "journald cat, quoted": prefixed("> "),
    "compose": prefixed("kube-scheduler-1  | "),
    "cri": prefixed("2026-12-01T10:00:{ns}Z stderr F "),
    "grep -Hn": prefixed("kube-scheduler.log:{n}:"),
    "stern": prefixed("kube-scheduler-a kube-scheduler "),
    "syslog": prefixed("<14>1 2026-11-26T06:14:{ns}Z node-1 s 12 - - "),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "docker json-file": _of_docker_in_parts,
    "journalctl -o json": wrapped("MESSAGE", __CURSOR="s=1", PRIORITY="6"),
    "go test -json": _of_go_test,
    "stern -o json": wrapped("message", nodeName="n", podName="p"),
    "fluentd": wrapped("log", stream="stderr"),
    "loki": wrapped("line", labels={"app": "s"}),
    "grep -n of docker json-file": lambda text: prefixed("{n}:")(
        _of_docker_in_parts(text).decode()
    ),
    "gzip of timestamps": lambda text: gzip.compress(prefixed("2026-12-01T10:00:{ns}Z ")(text), 1),
    "trailing blanks": lambda text: re.sub(r"$", "  ", text, flags=re.M).encode(),
    "a blank line after each": lambda text: text.replace("\n", "\n\n").encode(),
    "json-file of timestamps": lambda text: wrapped("log", end="\n")(
        prefixed("2026-12-01T10:00:{ns}Z ")(text).decode()
    ),
    "timestamps of json-file": lambda text: prefixed("2026-12-01T10:00:{ns}Z ")(
        wrapped("log", end="\n")(text).decode()
    ),
    "markdown": lambda text: b"```\n" + text.encode() + b"```\n",
    "no final line end": lambda text: text.rstrip("\n").encode(),
}
"""Forms that lose nothing: the verdict and the cause stay."""
LOSSY: dict[str, Form] = {
    "grep klog": grepped(r"^[IWEF]\d{4}"),
    "grep -v tabs": grepped(r"^\t", inverted=True),
    "grep place": grepped(r"dynamicresources.go|claim_binding.py|dynamic_resources.py"),
    "grep -A5": grepped("Reserved resource|pod resource claims|reserved", after=5),
    "grep without plans": grepped('"Reserved resource', inverted=True),
    "grep without bindings": grepped("bound pod|bind pod", inverted=True),
    "grep without allocations": grepped("Observed device allocation", inverted=True),
    "no log": lambda _: b"",
    "logfmt": lambda text: b"".join(
        f"level=info msg={json.dumps(line)}\n".encode() for line in text.splitlines()
    ),
    "base64-like": lambda text: text.encode().hex().encode(),
    "half of it in logfmt": lambda text: _halves(text),
    "utf-16": lambda text: text.encode("utf-16"),
    "without indentation": lambda text: re.sub(r"^[\t ]+", "", text, flags=re.M).encode(),
    "wrapped twice": lambda text: wrapped("message")(wrapped("log", end="\n")(text).decode()),
    "coloured": prefixed("\x1b[36mkube-scheduler\x1b[0m \x1b[1m|\x1b[m "),
    "highlighted": lambda text: text.replace("allocation", "\x1b[01;31mallocation\x1b[m").encode(),
    "array": lambda text: json.dumps(text.splitlines(), indent=1).encode(),
}
"""Forms that lose lines, or that are not known."""


def _halves(text: str) -> bytes:
    lines = text.splitlines(keepends=True)
    half = len(lines) // 5
    return "".join(lines[:half]).encode() + LOSSY["logfmt"]("".join(lines[half:]))
