"""Replaces the names in all files of a run: collects them in all files first."""

import contextlib
import dataclasses
import gzip
import io
import pathlib
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from typing import IO, Any

import msgspec
import tomli_w

from harness import errors, writing
from harness.checks import judging, verdict_files
from harness.history import compressed_files, directories, manifests, zstd_frames
from harness.packing import contents, name_collection, packs, record_redaction
from harness.report import publishing
from harness.report.redaction import names, texts

_BINARY = 8192
"""Bytes at the beginning of a file of which none is 0, if it is text."""


def redacted(run: contents.RunContent) -> tuple[contents.RunContent, list[str]]:
    """Return a run without the names of its cluster, with its own manifest, verdict and report.

    The second are sentences about files that cannot be redacted. Raises UsageError if it would be
    judged otherwise, and StorageError.
    """
    judged = directories.RunDirectory(pathlib.Path())
    traces = (judged.trace, judged.compressed_trace)
    made = {path.name for path in (judged.manifest, judged.verdict, *judged.pages(), *traces)}
    written = {name: data for name, data in run.files.items() if name not in made}
    binary = [name for name, data in written.items() if b"\0" in _beginning(name, data)]
    redaction = _Redaction({name: data for name, data in written.items() if name not in binary})
    with tempfile.TemporaryDirectory(prefix=packs.PREFIX) as name:
        directory = directories.RunDirectory(pathlib.Path(name) / "run")
        redaction.write(directory.path)
        compressed_files.compress_run(directory)
        sealed = _sealed(run, directory)
    path = f"{contents.plain(sealed.plan.scenario)}/{run.plan.run_id}"
    return dataclasses.replace(sealed, path=path), [
        f"{path}/{name}: it is no text" for name in binary
    ]


def _sealed(run: contents.RunContent, directory: directories.RunDirectory) -> contents.RunContent:
    """Write manifest and judging; raise UsageError if the verdict or a count is another."""
    manifests.write(directory, run_id=run.plan.run_id)
    examination = judging.examine(directory)
    before, judgement = run.judgement, examination.judgement
    if _counts(judgement) != _counts(before):
        raise errors.UsageError(
            f"expected the copy of {run.path} to be judged as the run, {before.verdict} with "
            f"{before.figures.violations} violations, but it is {judgement.verdict} with "
            f"{judgement.figures.violations}: pack it as it is, and tell the makers of Flake Hunt"
        )
    publishing.publish(examination)
    plan = examination.history.plan
    files = contents.files_of(directory, plan)
    return dataclasses.replace(run, plan=plan, judgement=judgement, files=files)


def _counts(judgement: verdict_files.Judgement) -> dict[str, tuple[str, int]]:
    found = {item.check: (str(item.verdict), item.violation_count) for item in judgement.checks}
    return found | {"": (str(judgement.verdict), judgement.figures.violations)}


class _Redaction:
    """The replacements of one run."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Collect the names in the files of a run: path -> content."""
        self._files = files
        found = names.Names()
        collector = name_collection.Collector(found)
        for name, data in files.items():
            for line, document in _parts(name, data):
                if document is None:
                    collector.line(line.decode(errors="replace"))
                else:
                    collector.file(_plain(name), document)
        found.number()
        self._texts = texts.Texts(found)
        self._records = record_redaction.Records(found, self._texts)

    def write(self, folder: pathlib.Path) -> None:
        """Write the files of the run below another folder, without compression."""
        for name, data in self._files.items():
            plain = _plain(name)
            parts = plain.split("/")
            path = folder / "/".join(map(self._texts.of, parts) if len(parts) > 1 else parts)
            with writing.explained(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    file.writelines(self._changed(plain, *part) for part in _parts(name, data))

    def _changed(self, plain: str, data: bytes, document: Any) -> bytes:
        if document is None:
            text = self._texts.line(data.decode(errors="surrogateescape"))
            return text.encode(errors="surrogateescape")
        of = self._records.plan if plain in name_collection.PLANS else self._records.of
        changed = of(document)
        if plain.endswith(".toml"):
            content: str = tomli_w.dumps(changed, multiline_strings=True)
            return content.encode()
        encoded = msgspec.json.encode(changed)
        if plain.endswith(".json"):
            return msgspec.json.format(encoded, indent=2) + b"\n"
        return encoded + b"\n" * data.endswith(b"\n")


# ------------------------------------------------------------------------- reading files


def _plain(name: str) -> str:
    return name.removesuffix(zstd_frames.SUFFIX).removesuffix(".gz")


def _parts(name: str, data: bytes) -> Iterator[tuple[bytes, Any]]:
    """Yield a file of JSON or TOML, or else each line, with its document; None: it has none."""
    plain = _plain(name)
    if plain.endswith((".json", ".toml")) and (document := _decoded(plain, data)) is not None:
        yield data, document
        return
    has_documents = plain.endswith(".jsonl") or plain.startswith("audit/")
    with _opened(name, data) as file, contextlib.suppress(EOFError, OSError):
        for line in file:
            yield line, _decoded(plain, line) if has_documents else None


def _decoded(plain: str, data: bytes) -> Any:
    """Return the document in a file or in a line of one; None if it is damaged."""
    try:
        return (
            tomllib.loads(data.decode()) if plain.endswith(".toml") else msgspec.json.decode(data)
        )
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _beginning(name: str, data: bytes) -> bytes:
    with _opened(name, data) as file, contextlib.suppress(EOFError):
        return file.read(_BINARY)
    return b""


def _opened(name: str, data: bytes) -> IO[bytes]:
    file = io.BytesIO(data)
    if name.endswith(zstd_frames.SUFFIX):
        return zstd_frames.decompressing(file, buffer=2**20)
    return io.BufferedReader(gzip.GzipFile(fileobj=file)) if name.endswith(".gz") else file
