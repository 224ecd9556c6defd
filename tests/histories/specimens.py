"""Run directories in memory, to be damaged: the golden ones and a few recorded runs."""

import dataclasses
import functools
import gzip
import hashlib
import io
import json
import pathlib
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.checks import verdicts
from harness.history import directories, zstd_frames
from tests.support import golden_runs

GOLDEN = golden_runs.FOLDER
RECORDED = pathlib.Path(__file__).parent / "recorded"
NO_EVIDENCE = (
    "manifest.json",
    "verdict.json",
    "report.html",
    "junit.xml",
    "trace.json",
    "trace.json.gz",
)
"""Files that are no evidence: the manifest is made again for each edit."""
JOURNALS = (".jsonl", ".jsonl" + zstd_frames.SUFFIX)
"""How the names of journals end, plain and compressed."""
GZIP = ".gz"
"""How the names of compressed parts of the audit log end."""
AUDIT = "audit/"
"""Beginning of the names of the audit log's parts."""
Files = Mapping[str, bytes | None]
"""Name of a file -> its content; None: it is not there."""


@dataclasses.dataclass(frozen=True)
class Specimen:
    """A sealed run directory whose verdict is known."""

    name: str
    verdict: verdicts.Verdict
    files: dict[str, bytes]
    """Path in the run directory -> content, without the manifest."""

    @functools.cached_property
    def journals(self) -> dict[str, list[bytes]]:
        """Name of each journal -> its lines, from the header to the trailer.

        A part of the audit log has neither; both are empty there.
        """
        return {
            name: _lines(name, content)
            for name, content in self.files.items()
            if name.endswith(JOURNALS) or name.startswith(AUDIT)
        }

    @functools.cached_property
    def entries(self) -> dict[str, Any]:
        return {name: _entry(name, content) for name, content in self.files.items()}

    def manifest(self, changed: Files) -> bytes:
        """The manifest, made right after these changes."""
        entries = self.entries | {
            name: _entry(name, content) for name, content in changed.items() if content is not None
        }
        gone = {name for name, content in changed.items() if content is None}
        listed = {name: entry for name, entry in entries.items() if name not in gone}
        run_id = json.loads(self.files["plan.json"])["run_id"]
        return json.dumps({"schema": 1, "run_id": run_id, "files": listed}).encode()


def _lines(name: str, content: bytes) -> list[bytes]:
    lines = unpack(name, content).splitlines(keepends=True)
    return [b"", *lines, b""] if name.startswith(AUDIT) else lines


def _entry(name: str, content: bytes) -> dict[str, Any]:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    records = unpack(name, content).count(b"\n") - 2 if name.endswith(JOURNALS) else None
    return {"records": records, "bytes": len(content), "digest": digest}


def write(chosen: Specimen, path: pathlib.Path, changed: Files) -> directories.RunDirectory:
    """The run directory with these changes; what is there of it already is not written again."""
    directory = directories.RunDirectory(path)
    if not path.exists():
        for name, content in chosen.files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
    _put(path, changed)
    directory.manifest.write_bytes(chosen.manifest(changed))
    return directory


def restore(chosen: Specimen, directory: directories.RunDirectory, changed: Files) -> None:
    _put(directory.path, {name: chosen.files[name] for name in changed})


def _put(path: pathlib.Path, files: Files) -> None:
    for name, content in files.items():
        if content is None:
            (path / name).unlink()
        else:
            (path / name).write_bytes(content)


def pack(name: str, lines: Sequence[bytes]) -> bytes:
    """The content of a journal or a part of the log, in the form that its name says."""
    if name.endswith(GZIP):
        return gzip.compress(b"".join(lines), mtime=0)
    if not name.endswith(zstd_frames.SUFFIX):
        return b"".join(lines)
    compressor = zstd_frames.Compressor()
    *body, trailer = lines
    return b"".join([*map(compressor.append, body), compressor.append_frame(trailer)])


def unpack(name: str, content: bytes) -> bytes:
    """The lines of a journal or of a part of the audit log, of any form."""
    if name.endswith(GZIP):
        return gzip.decompress(content)
    if not name.endswith(zstd_frames.SUFFIX):
        return content
    with zstd_frames.decompressing(io.BytesIO(content)) as file:
        return file.read()


def compressed(chosen: Specimen) -> Specimen:
    files = dict(chosen.files)
    plain = directories.RunDirectory(pathlib.Path()).new_observations("none").name
    name = plain + zstd_frames.SUFFIX
    files[name] = pack(name, files.pop(plain).splitlines(keepends=True))
    return dataclasses.replace(chosen, name=f"{chosen.name}, compressed", files=files)


def all_of_them() -> list[Specimen]:
    return [*golden(), *recorded()]


def golden() -> Iterator[Specimen]:
    """The golden directories: the names of their folders begin with their verdicts."""
    for path in sorted(GOLDEN.glob("*/*/plan.json")):
        folder = path.parent
        yield Specimen(
            name=f"{folder.parent.name}/{folder.name}",
            verdict=verdicts.Verdict(folder.name.partition("-")[0]),
            files={
                file.relative_to(folder).as_posix(): file.read_bytes()
                for file in sorted(folder.rglob("*"))
                if file.is_file() and file.name not in NO_EVIDENCE
            },
        )


def recorded() -> Iterator[Specimen]:
    """The recorded runs, compressed; the names of the archives begin with their verdicts."""
    for path in sorted(RECORDED.glob("*.tar.xz")):
        with tarfile.open(path) as archive:
            files = {
                item.name: content.read()
                for item in archive.getmembers()
                if (content := archive.extractfile(item)) is not None
                and item.name not in NO_EVIDENCE
            }
        name = path.name.removesuffix(".tar.xz")
        yield Specimen(
            name=f"recorded/{name}", verdict=verdicts.Verdict(name.partition("-")[0]), files=files
        )
