"""The embedded API server without a garbage collector, as a kube-apiserver alone is."""

from harness.apiserver.storage import object_tables, stored_objects
from harness.cli import main


def _has_owner(_: object_tables.Objects, stored: stored_objects.Stored) -> bool:
    del stored
    return True


if __name__ == "__main__":
    object_tables.Objects.has_owner = _has_owner  # type: ignore[method-assign, assignment]
    main.main()
