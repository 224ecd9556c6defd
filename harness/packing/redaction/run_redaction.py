"""Replaces the names in all files of a run: collects them in all files first."""

import contextlib
import dataclasses
import gzip
import io
import pathlib
import tomllib
from collections.abc import Iterator, Mapping
from typing import IO, Any

import msgspec
import tomli_w

from harness import writing
from harness.history import compressed_files, directories, zstd_frames
from harness.packing import contents, staging
from harness.packing.redaction import collecting, documents, names, texts

_PLANS = ("plan.json", "scenario.toml")
"""Files whose words are chosen from a few: names in them stand as a whole."""
_BINARY = 8192
"""Bytes at the beginning of a file of which none is 0, if it is text."""
_DECODING = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclasses.dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted run."""

    run: contents.RunContent
    left_out: list[str]
    """Files that cannot be redacted."""


def redacted(run: contents.RunContent) -> Redacted:
    """Return a run without the names of its cluster, with its own manifest, verdict and report.

    Raises UsageError if it would be judged otherwise, and StorageError.
    """
    written = {name: data for name, data in run.files.items() if not _is_judging(name)}
    binary = [name for name, data in written.items() if b"\0" in _beginning(name, data)]
    texts_only = {name: data for name, data in written.items() if name not in binary}
    redaction = Redaction(texts_only)
    with staging.staged({}) as directory:
        for name, data in texts_only.items():
            redaction.write(name, data, directory.path)
        compressed_files.compress_run(directory)
        sealed = staging.sealed(run, directory)
    path = f"{contents.plain(sealed.plan.scenario)}/{run.plan.run_id}"
    return Redacted(
        contents.moved(sealed, path), [f"{path}/{name}: it is no text" for name in binary]
    )


def _is_judging(name: str) -> bool:
    directory = directories.RunDirectory(pathlib.Path())
    made = (directory.manifest, directory.verdict, directory.report, directory.junit)
    pages = (*made, directory.summary, directory.trace, directory.compressed_trace)
    return name in {path.name for path in pages}


def _beginning(name: str, data: bytes) -> bytes:
    with _opened(name, data) as file, contextlib.suppress(EOFError):
        return file.read(_BINARY)
    return b""


def _opened(name: str, data: bytes) -> IO[bytes]:
    """Return the content of a file, decompressed."""
    if name.endswith(zstd_frames.SUFFIX):
        return zstd_frames.decompressing(io.BytesIO(data), buffer=2**16)
    file = io.BytesIO(data)
    return io.BufferedReader(gzip.GzipFile(fileobj=file)) if name.endswith(".gz") else file


def _lines(name: str, data: bytes) -> Iterator[bytes]:
    """Yield the lines of a file with their ends, up to the first damage."""
    with _opened(name, data) as file, contextlib.suppress(EOFError, OSError):
        yield from file


class Redaction:
    """The replacements of one run."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Collect the names in the files of a run: path -> content."""
        self.names = names.Names()
        self._collector = collecting.Collector(self.names)
        for name, data in files.items():
            self._collect(_plain(name), name, data)
        self.names.number()
        self._texts = texts.Texts(self.names)
        self._documents = documents.Documents(self.names, self._texts)

    # --------------------------------------------------------------------- collecting

    def _collect(self, plain: str, name: str, data: bytes) -> None:
        if plain.endswith((".json", ".toml")):
            self._collector.file(plain, _document(plain, data))
            return
        for line in _lines(name, data):
            decoded = _decoded(line) if _is_journal(plain) else None
            if decoded is None:
                self._collector.text(line.decode(errors="replace"))
            else:
                self._collector.walk(decoded)

    # ---------------------------------------------------------------------- replacing

    def write(self, name: str, data: bytes, folder: pathlib.Path) -> None:
        """Write a file of the run below another folder, without compression."""
        plain = _plain(name)
        path = folder / "/".join(
            self._texts.of(part) if "/" in plain else part for part in plain.split("/")
        )
        with writing.explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.writelines(self._changed(plain, name, data))

    def _changed(self, plain: str, name: str, data: bytes) -> Iterator[bytes]:
        if plain.endswith((".json", ".toml")):
            yield self._whole(plain, data)
            return
        for line in _lines(name, data):
            decoded = _decoded(line) if _is_journal(plain) else None
            if decoded is None:
                yield self._line(line)
            else:
                yield msgspec.json.encode(self._documents.of(decoded)) + b"\n" * line.endswith(
                    b"\n"
                )

    def _whole(self, plain: str, data: bytes) -> bytes:
        document = _document(plain, data)
        if document is None:
            return b"".join(map(self._line, data.splitlines(keepends=True)))
        is_plan = plain in _PLANS
        changed = self._documents.plan(document) if is_plan else self._documents.of(document)
        if plain.endswith(".toml"):
            content: str = tomli_w.dumps(changed, multiline_strings=True)
            return content.encode()
        return msgspec.json.format(msgspec.json.encode(changed), indent=2) + b"\n"

    def _line(self, line: bytes) -> bytes:
        text = line.decode(errors="surrogateescape")
        return self._texts.line(text).encode(errors="surrogateescape")


def _plain(name: str) -> str:
    return name.removesuffix(zstd_frames.SUFFIX).removesuffix(".gz")


def _is_journal(plain: str) -> bool:
    """Return whether the lines of a file are documents of JSON."""
    return plain.endswith(".jsonl") or plain.startswith("audit/")


def _decoded(line: bytes) -> Any:
    """Return the document of a line; None if it is none."""
    try:
        return msgspec.json.decode(line)
    except _DECODING:
        return None


def _document(plain: str, data: bytes) -> Any:
    """Return the content of a file of JSON or TOML; None if it is damaged."""
    try:
        if plain.endswith(".toml"):
            return tomllib.loads(data.decode())
        return msgspec.json.decode(data)
    except (tomllib.TOMLDecodeError, *_DECODING):
        return None
