"""Metadata of objects: names, labels, annotations, owner references, finalizers.

After k8s.io/apimachinery/pkg/api/validation/objectmeta.go.
"""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources
from harness.apiserver.validation import formats, rules

ANNOTATIONS_BYTES_MAX = 256 * 1024
FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
"""Standard finalizers: the only ones without a domain."""
UNKNOWN_FINALIZER = "name is neither a standard finalizer name nor is it fully qualified"
_IMMUTABLE = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_NOT_IN_TEMPLATES = ("name", "generateName", "namespace", "ownerReferences", "finalizers")
_QUALIFIED, _VALUE = rules.text(formats.qualified_name), rules.text(formats.label_value)
_NAMES: dict[tuple[str, str], formats.Problems] = {
    ("", "namespaces"): formats.label,
    ("", "services"): formats.label,
    ("apps", "statefulsets"): formats.label,
    ("", "events"): formats.path_segment,
    **{
        ("rbac.authorization.k8s.io", plural): formats.path_segment
        for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    },
}
"""Name formats, by group and plural, of the kinds whose names are not subdomains."""


def new(resource: resources.ResourceType, meta: Document) -> Iterator[Cause]:
    """Validate the metadata of a new object."""
    problems = _NAMES.get((resource.group, resource.plural), formats.subdomain)
    if prefix := meta.get("generateName"):
        whole = f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        for problem in problems(whole):  # as `maskTrailingDash` upstream
            yield field_errors.invalid("metadata.generateName", prefix, problem)
    named = rules.required(rules.text(problems), "name or generateName is required")
    yield from named(meta.get("name"), "metadata.name")
    yield from _written(resource, meta)


def changed(resource: resources.ResourceType, meta: Document, old: Document) -> Iterator[Cause]:
    """Validate the metadata of an updated object."""
    added = sorted(set(meta.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if old.get("deletionTimestamp") and added:
        why = f"no new finalizers can be added if the object is being deleted: {', '.join(added)}"
        yield field_errors.forbidden("metadata.finalizers", why)
    for key in _IMMUTABLE:
        if meta.get(key) != old.get(key):
            yield field_errors.immutable(f"metadata.{key}", meta.get(key))
    yield from _written(resource, meta)


def of_template(meta: Document | None, at: str) -> Iterator[Cause]:
    """Validate the metadata in a template, which may set labels and annotations only."""
    found = meta or {}
    yield from labels(found.get("labels"), f"{at}.labels")
    yield from _annotations(found.get("annotations"), f"{at}.annotations")
    for key in _NOT_IN_TEMPLATES:
        if found.get(key):
            yield field_errors.forbidden(f"{at}.{key}", "cannot be set")


def _written(resource: resources.ResourceType, meta: Document) -> Iterator[Cause]:
    """Validate what clients write; finalizers of leases need no domain."""
    yield from _WRITTEN(meta, "metadata")
    names, at = meta.get("finalizers") or (), "metadata.finalizers"
    for index, name in enumerate(names):
        yield from _QUALIFIED(name, at)
        if "/" not in name and name not in FINALIZERS and resource is not resources.LEASES:
            yield field_errors.invalid(f"{at}[{index}]", name, UNKNOWN_FINALIZER)
    if "orphan" in names and "foregroundDeletion" in names:
        yield field_errors.invalid(at, names, "orphan and foregroundDeletion cannot be both set")


def labels(document: Document | None, at: str) -> Iterator[Cause]:
    """Validate the keys and values of labels."""
    for key, value in (document or {}).items():
        yield from _QUALIFIED(key, at)
        yield from _VALUE(value, at)


def _annotations(annotations: Document | None, at: str) -> Iterator[Cause]:
    size = 0
    for key, value in (annotations or {}).items():
        size += len(key.encode()) + len((value or "").encode())
        yield from _QUALIFIED(key.lower(), at)
    if size > ANNOTATIONS_BYTES_MAX:
        yield field_errors.too_long(at, ANNOTATIONS_BYTES_MAX)


def _owners(owners: list[Document] | None, at: str) -> Iterator[Cause]:
    for owner in owners or ():
        yield from _OWNER(owner, at)
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            yield field_errors.invalid(at, owner, "an Event is disallowed from being an owner")
    controllers = [owner for owner in owners or () if owner.get("controller")]
    for _ in controllers[1:]:
        yield field_errors.invalid(at, controllers, "only one reference can be the controller")


_NOT_EMPTY = rules.wrong_if(lambda value: not value, "must not be empty", default="")
_OWNER = rules.fields(
    (
        "apiVersion",
        rules.wrong_if(
            lambda value: not (value or "").rpartition("/")[2] or value.count("/") > 1,
            "version must not be empty",
            default="",
        ),
    ),
    ("kind", _NOT_EMPTY),
    ("name", _NOT_EMPTY),
    ("uid", _NOT_EMPTY),
)
_WRITTEN = rules.fields(
    ("labels", labels), ("annotations", _annotations), ("ownerReferences", _owners)
)
