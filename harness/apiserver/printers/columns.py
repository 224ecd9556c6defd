"""What a column of `kubectl get` is made of, and the columns that many kinds share.

The columns of each kind are in `columns_core`, `columns_workloads` and `columns_groups`; the cells of a row are computed in their order.

A column is its name, its priority (1 is shown by `-o wide` only), what describes it (a field of a type in Kubernetes' OpenAPI, or the
text itself), and a function from the object to the cell.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from harness.apiserver.printers import cells, durations
from harness.apiserver.scheme.json_document import Document


class Column(NamedTuple):
    """One column of a table."""

    name: str
    cell: Callable[[Document, str], Any]
    """From the object and the time that it is now."""
    described: str = ""
    """`core.v1.Event reason`: a field of a type; or a text."""
    priority: int = 0


def at(path: str, default: Any = "") -> Callable[[Document, str], Any]:
    """What is at a path of field names, or the default when there is nothing."""

    def cell(document: Document, _: str) -> Any:
        found = cells.value(document, path)
        return default if found is None or found == "" else found

    return cell


def field(name: str, path: str, type_name: str, default: Any = "", *, priority: int = 0) -> Column:
    """A column of what is in one field, which describes it."""
    described = f"{type_name} {path.rpartition('.')[2]}"
    return Column(name, at(path, default), described, priority)


def flag(path: str) -> Callable[[Document, str], bool]:
    """Whether what is at a path is true."""
    return lambda document, _: bool(cells.value(document, path))


def age(path: str) -> Callable[[Document, str], Any]:
    """How long ago the time at a path was."""
    return lambda document, now: durations.between(cells.value(document, path) or "", now)


def by(function: Callable[[Document], Any]) -> Callable[[Document, str], Any]:
    """A cell that no time plays a part in."""
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
