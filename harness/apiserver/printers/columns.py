"""The type of a column of `kubectl get`, and the columns that many kinds share.

The columns of each kind are in `columns_core`, `columns_workloads` and `columns_groups`, in the
order of the cells of a row.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from harness.apiserver.printers import cells, durations
from harness.apiserver.scheme.json_document import Document


class Column(NamedTuple):
    """One column of a table."""

    name: str
    cell: Callable[[Document, str], Any]
    """Computes the cell from the object and the current time."""
    described: str = ""
    """The description: a field of an OpenAPI type, such as `core.v1.Event reason`, or a text."""
    priority: int = 0
    """1 for columns that only `-o wide` shows."""


def at(path: str, default: Any = "") -> Callable[[Document, str], Any]:
    """Return a cell with the value at a path, or the default if that is missing or empty."""

    def cell(document: Document, _: str) -> Any:
        value = cells.value(document, path)
        return default if value is None or value == "" else value

    return cell


def field(name: str, path: str, type_name: str, default: Any = "", *, priority: int = 0) -> Column:
    """Return a column that shows one field, with the description of that field."""
    described = f"{type_name} {path.rpartition('.')[2]}"
    return Column(name, at(path, default), described, priority)


def flag(path: str) -> Callable[[Document, str], bool]:
    """Return a cell that is true if the value at a path is."""
    return lambda document, _: bool(cells.value(document, path))


def age(path: str) -> Callable[[Document, str], Any]:
    """Return a cell with the time that has passed since the time at a path."""
    return lambda document, now: durations.between(cells.value(document, path) or "", now)


def by(function: Callable[[Document], Any]) -> Callable[[Document, str], Any]:
    """Return a cell for a function that does not use the current time."""
    return lambda document, _: function(document)


NONE = cells.NONE
NAME = Column("Name", at("metadata.name"), "meta.v1.ObjectMeta name")
AGE = Column("Age", age("metadata.creationTimestamp"), "meta.v1.ObjectMeta creationTimestamp")
WIDE_CONTAINERS = (
    Column("Containers", by(cells.container_names), "Names of each container in the template.", 1),
    Column(
        "Images",
        by(cells.container_images),
        "Images referenced by each container in the template.",
        1,
    ),
)
SELECTOR = Column("Selector", by(cells.selector), "The label selector of the object.", 1)
PLAIN = (NAME, AGE)
"""The columns of kinds without columns of their own."""
