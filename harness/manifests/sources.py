"""An object of a file, and its place there."""

import dataclasses

import msgspec

from harness import errors
from harness.model.objects import Object


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place in a file; documents, items and lines count from 1."""

    path: str
    """The file as it was named."""
    document: int = 1
    item: int | None = None
    """The number in a `List`; None: the document is the object."""
    line: int | None = None
    """The first line of the object; None: not known, as in JSON."""

    def __str__(self) -> str:
        item = f", item {self.item}" if self.item is not None else ""
        line = f" (line {self.line})" if self.line is not None else ""
        return f"{self.path}, document {self.document}{item}{line}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """An object of a file; it has `apiVersion`, `kind` and `metadata`."""

    obj: Object
    source: Source

    @property
    def api_version(self) -> str:
        return str(self.obj["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.obj["kind"])

    @property
    def name(self) -> str:
        """`metadata.name`; empty if the server is to generate one (`generateName`)."""
        return str(self.obj["metadata"].get("name", ""))

    @property
    def namespace(self) -> str:
        return str(self.obj["metadata"].get("namespace", ""))

    def error(self, problem: str, *, field: str = "") -> errors.ManifestError:
        name = self.name or self.obj["metadata"].get("generateName") or "without a name"
        field = f"{field}: " if field else ""
        return errors.ManifestError(f"{self.source}: {self.kind} {name}: {field}{problem}")


def misplaced(error: msgspec.ValidationError, place: str) -> tuple[str, str]:
    """Return the field that has another type, and what was expected of it, as a clause.

    `place` is the field that was converted; empty: the whole object.
    """
    sentence, _, below = str(error).partition(" - at `$")
    return f"{place}{below.rstrip('`')}".lstrip("."), f"{sentence[:1].lower()}{sentence[1:]}"
