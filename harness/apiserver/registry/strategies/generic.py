"""The base class of all strategies: what the server does with objects of any kind.

A strategy belongs to one resource, in the version in which its objects are stored.
After k8s.io/apiserver/pkg/registry/rest (`RESTCreateStrategy`, `RESTUpdateStrategy`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.managedfields import field_sets
from harness.apiserver.scheme import api_types, defaults, resources
from harness.apiserver.storage import stored_objects
from harness.apiserver.validation import metadata

Labels = Callable[[], dict[str, str]]
"""Returns the labels of the object's namespace."""
USER_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
"""The metadata that clients may change."""
_SERVER_METADATA = ("uid", "creationTimestamp", "generation")
"""The metadata that only the server sets, and that an update keeps."""


def _accept(*_: Document) -> Iterable[Cause]:
    return ()


class Rules(NamedTuple):
    """The validation of a kind, besides its metadata: functions that yield errors."""

    new: Callable[[Document], Iterable[Cause]] = _accept
    change: Callable[[Document, Document], Iterable[Cause]] = _accept
    """Validates a changed object, given as it is to be and as it was."""
    status: Callable[[Document, Document], Iterable[Cause]] = _accept
    """Validates a write of the status."""


class Strategy:
    """The treatment of objects of one resource; kinds override what differs."""

    keeps_new_status: ClassVar[bool] = False
    """True if an object may be created with a status (nodes)."""
    metadata_kept_by_status: ClassVar[tuple[str, ...]] = ()
    """Metadata that a write of the status cannot change."""
    reset_by_status: ClassVar[tuple[str, ...]] = ()
    """Paths, besides `spec`, that a writer of the status cannot own in managedFields."""

    def __init__(self, resource: resources.ResourceType, rules: Rules) -> None:
        self.resource, self.rules = resource, rules
        self._reset_by_status = field_sets.of_paths("spec", *self.reset_by_status)
        self._reset = field_sets.of_paths("status") if "status" in resource.subresources else {}

    def reset_fields(self, subresource: str) -> field_sets.Tree:
        """Return the fields that an endpoint ignores, so that its writers never own them."""
        return self._reset_by_status if subresource == "status" else self._reset

    # -------------------------------------------------------------- preparing

    def default(
        self, served: resources.ResourceType, document: Document, *, now: Callable[[], str]
    ) -> None:
        """Set the default values of the version in which the document is, `served`, in place."""
        defaults.fill(api_types.of(served), document)

    def prepare_for_create(self, document: Document, *, now: str) -> None:
        """Clear what clients may not set on a new object, and initialize its status, in place."""
        meta = document["metadata"]
        meta.pop("resourceVersion", None)
        if "status" in self.resource.subresources and not self.keeps_new_status:
            document.pop("status", None)
        self.drop_disabled_fields(document)
        if self.resource.tracks_generation:
            meta["generation"] = 1
        if "status" not in document and (status := self.new_status(document)) is not None:
            document["status"] = status

    def new_status(self, document: Document) -> Document | None:
        """Return the status of a new object, by default Go's zero value; None if it has none."""
        field = api_types.of(self.resource).fields.get("status")
        if field is None or not field.always:
            return None
        status: Document = field.zero()
        return status

    def prepare_for_update(
        self, document: Document, old: Document, *, subresource: str = ""
    ) -> None:
        """Restore from the old object what this endpoint may not write, in place."""
        meta, before = document["metadata"], old["metadata"]
        for key in _SERVER_METADATA:
            take_over(meta, before, key)
        _keep_deletion(meta, before)
        self.keep_unwritable(document, old, subresource)
        self.drop_disabled_fields(document, old)
        if self.resource.tracks_generation and document.get("spec") != old.get("spec"):
            meta["generation"] = before.get("generation", 1) + 1

    def keep_unwritable(self, document: Document, old: Document, subresource: str) -> None:
        """Restore the parts of the object that belong to other endpoints, in place."""
        if subresource == "status":
            for key in {**old, **document}:
                if key not in ("status", "metadata"):
                    take_over(document, old, key)
            for key in self.metadata_kept_by_status:
                take_over(document["metadata"], old["metadata"], key)
        elif "status" in self.resource.subresources:
            take_over(document, old, "status")

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of disabled feature gates, unless the stored object uses them; in place.

        The gates that are off by default in Kubernetes 1.36 are disabled, unless switched on.
        """

    # -------------------------------------------------------------- validating

    def errors(
        self, document: Document, served: resources.ResourceType, labels: Labels
    ) -> Iterator[Cause]:
        """Yield the errors in a new object, in its stored form; the client sent it as `served`."""
        yield from metadata.new(self.resource, document["metadata"])
        yield from self.rules.new(document)

    def update_errors(
        self, document: Document, old: Document, subresource: str, labels: Labels
    ) -> Iterator[Cause]:
        """Yield the errors in a changed object."""
        yield from metadata.changed(self.resource, document["metadata"], old["metadata"])
        rule = self.rules.status if subresource == "status" else self.rules.change
        yield from rule(document, old)

    def warnings(self, stored: stored_objects.Stored) -> Iterable[str]:
        """Return the warnings in the response to a write."""
        return ()


def _keep_deletion(meta: Document, before: Document) -> None:
    """Keep the deletion timestamp and grace period, in place.

    They cannot be unset; setting them by an update is a validation error.
    """
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    grace_s = before.get("deletionGracePeriodSeconds")
    if grace_s is not None and meta.get("deletionGracePeriodSeconds") is None:
        meta["deletionGracePeriodSeconds"] = grace_s


# ------------------------------------------------------------------ editing documents


def take_over(target: Document, source: Document, key: str) -> None:
    """Copy a field, or drop it if the source does not have it; in place."""
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


def set_or_drop(target: Document, key: str, value: Any) -> None:
    """Set a field, or drop it if its value is empty, as Go does with `omitempty`; in place."""
    if value:
        target[key] = value
    else:
        target.pop(key, None)


def drop_new(document: Document, old: Document | None, part: str, key: str) -> None:
    """Drop a field of `spec` or `status` unless the old object has it, in place."""
    if key not in ((old or {}).get(part) or {}):
        (document.get(part) or {}).pop(key, None)
