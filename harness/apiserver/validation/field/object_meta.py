"""Validation of `metadata`: names, labels, annotations, owner references, finalizers.

After k8s.io/apimachinery/pkg/api/validation/objectmeta.go.
"""

from collections.abc import Callable, Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import object_names, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats

ANNOTATIONS_BYTES_MAX = 256 * 1024
FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
"""Standard finalizers: the only ones without a domain."""
_OWNERS_SHOWN = 20
"""Owner references quoted in one error message."""
UNKNOWN_FINALIZER = "name is neither a standard finalizer name nor is it fully qualified"
_IMMUTABLE = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_NOT_IN_TEMPLATES = (
    "name",
    "generateName",
    "namespace",
    "ownerReferences",
    "finalizers",
)


def new(resource: resources.ResourceType, meta: Document) -> Iterator[Cause]:
    """Validate the metadata of a new object."""
    problems = name_problems(resource)
    if prefix := meta.get("generateName"):
        yield from formats.check(
            "metadata.generateName", prefix, lambda name: problems(object_names.unfinished(name))
        )
    name = meta.get("name") or ""
    if name:
        yield from formats.check("metadata.name", name, problems)
    else:
        yield field_errors.required("metadata.name", "name or generateName is required")
    yield from _written(meta, with_finalizers=True)
    yield from known_finalizers(resource, meta)


def changed(meta: Document, old: Document) -> Iterator[Cause]:
    """Validate the metadata of an updated object."""
    if old.get("deletionTimestamp"):
        yield from _no_new_finalizers(meta.get("finalizers") or [], old.get("finalizers") or [])
    for key in _IMMUTABLE:
        if meta.get(key) != old.get(key):
            yield field_errors.immutable(f"metadata.{key}", meta.get(key))
    yield from _written(meta, with_finalizers=False)


def of_template(meta: Document, at: str) -> Iterator[Cause]:
    """Validate the metadata in a template, which may set labels and annotations only."""
    yield from labels(meta.get("labels"), f"{at}.labels")
    yield from _annotations(meta.get("annotations"), f"{at}.annotations")
    for key in _NOT_IN_TEMPLATES:
        if meta.get(key):
            yield field_errors.forbidden(f"{at}.{key}", "cannot be set")


def finalizers_of(meta: Document) -> Iterator[Cause]:
    """Validate the names of finalizers; `orphan` and `foregroundDeletion` exclude each other."""
    names = meta.get("finalizers")
    for name in names or ():
        yield from formats.check("metadata.finalizers", name, formats.qualified_name)
    if names and "orphan" in names and "foregroundDeletion" in names:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        yield field_errors.invalid("metadata.finalizers", names, why)


def known_finalizers(resource: resources.ResourceType, meta: Document) -> Iterator[Cause]:
    """Reject finalizers without a domain that are not standard ones. Leases accept any."""
    if resource is resources.LEASES:
        return
    for index, name in enumerate(meta.get("finalizers") or ()):
        if "/" not in name and name not in FINALIZERS:
            yield field_errors.invalid(f"metadata.finalizers[{index}]", name, UNKNOWN_FINALIZER)


def name_problems(resource: resources.ResourceType) -> Callable[[str], list[str]]:
    """Return the name format of a kind, without a cache, because names hardly ever repeat."""
    return _NAMES.get((resource.group, resource.plural), object_names.subdomain_problems)


def labels(document: Document | None, at: str) -> Iterator[Cause]:
    """Validate the keys and values of labels."""
    for key, value in (document or {}).items():
        yield from formats.check(at, key, formats.qualified_name)
        yield from formats.check(at, value or "", formats.label_value)


def _written(meta: Document, *, with_finalizers: bool) -> Iterator[Cause]:
    if meta.get("labels"):
        yield from labels(meta["labels"], "metadata.labels")
    if meta.get("annotations"):
        yield from _annotations(meta["annotations"], "metadata.annotations")
    if owners := meta.get("ownerReferences"):
        yield from _owners(owners, "metadata.ownerReferences")
    if with_finalizers and meta.get("finalizers"):
        yield from finalizers_of(meta)


def _annotations(annotations: Document | None, at: str) -> Iterator[Cause]:
    size = 0
    for key, value in (annotations or {}).items():
        size += len(key.encode()) + len((value or "").encode())
        for problem in formats.qualified_name(key.lower()):
            yield field_errors.invalid(at, key, problem)
    if size > ANNOTATIONS_BYTES_MAX:
        yield field_errors.too_long(at, ANNOTATIONS_BYTES_MAX)


def _owners(owners: list[Document], at: str) -> Iterator[Cause]:
    controller = ""
    for owner in owners:
        yield from _owner(owner, at)
        if not owner.get("controller"):
            continue
        name = f"{owner.get('kind') or ''}/{owner.get('name') or ''}"
        if controller:
            why = (
                'Only one reference can have Controller set to true. Found "true" in references for '
                f"{controller} and {name}"
            )
            yield field_errors.invalid(
                at, [_shown_owner(item) for item in owners[:_OWNERS_SHOWN]], why
            )
        controller = controller or name


def _owner(owner: Document, at: str) -> Iterator[Cause]:
    version = owner.get("apiVersion") or ""
    if not version.rpartition("/")[2] or version.count("/") > 1:
        yield field_errors.invalid(f"{at}.apiVersion", version, "version must not be empty")
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            yield field_errors.invalid(f"{at}.{key}", "", "must not be empty")
    if (version, owner.get("kind")) == ("v1", "Event"):
        why = "/v1, Kind=Event is disallowed from being an owner"
        yield field_errors.invalid(at, _shown_owner(owner), why)


def _shown_owner(owner: Document) -> Document:
    shown = {key: owner.get(key) or "" for key in ("apiVersion", "kind", "name", "uid")}
    optional = ("controller", "blockOwnerDeletion")
    return shown | {key: owner[key] for key in optional if owner.get(key) is not None}


def _no_new_finalizers(names: list[str], before: list[str]) -> Iterator[Cause]:
    added = sorted(set(names) - set(before))
    if added:
        why = f"no new finalizers can be added if the object is being deleted: {', '.join(added)}"
        yield field_errors.forbidden("metadata.finalizers", why)


_RBAC = "rbac.authorization.k8s.io"
_NAMES: dict[tuple[str, str], Callable[[str], list[str]]] = {
    ("", "namespaces"): object_names.label_problems,
    ("", "services"): object_names.label_problems,
    ("apps", "statefulsets"): object_names.label_problems,
    ("", "events"): object_names.path_segment_problems,
    (_RBAC, "roles"): object_names.path_segment_problems,
    (_RBAC, "rolebindings"): object_names.path_segment_problems,
    (_RBAC, "clusterroles"): object_names.path_segment_problems,
    (_RBAC, "clusterrolebindings"): object_names.path_segment_problems,
}
"""Name formats, by group and plural, of the kinds whose names are not subdomains."""
