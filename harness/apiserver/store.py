"""The store: Kubernetes' semantics without HTTP, threads, time or I/O.

Every method is one atomic step; its caller decides when it runs. Documents that come in are owned by the store from then on;
what comes out is `Stored` (bytes) and never shared mutable state. One integer resourceVersion counts every commit of
every resource (dra.md 4.1). Listeners are told of each commit after it is done; when a watcher gets to see it, and when the writer gets
its answer, is up to whoever drives the store.
"""

import collections
import random
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver import (
    admitting,
    converting,
    naming,
    resources,
    statuses,
    storing,
    strategies,
    validating,
    watching,
)

Document = dict[str, Any]
Key = tuple[str, str]
Listener = Callable[[watching.Commit], None]
WATCH_HISTORY_DEFAULT = 100_000
GENERATE_TRIES_MAX = 8
table_of = resources.table_of
_INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class Store:
    """All objects of one API server."""

    def __init__(
        self,
        *,
        now: Callable[[], str],
        stream: random.Random,
        watch_history: int = WATCH_HISTORY_DEFAULT,
        past: watching.Past | None = None,
        listeners: Iterable[Listener] = (),
    ) -> None:
        """A store that goes on from a past; without one, a fresh one whose first commits the listeners see as well."""
        self._now = now
        self._stream = stream
        self._tables: dict[resources.ResourceType, dict[Key, storing.Stored]] = {
            table_of(item): {} for item in resources.STORED
        }
        self._history = watching.History(watch_history, floor=past.version if past else 0)
        self._listeners: list[Listener] = list(listeners)
        self._garbage: collections.deque[tuple[resources.ResourceType, Key]] = collections.deque()
        self._dependents: dict[str, set[tuple[resources.ResourceType, Key]]] = {}
        self._uids: set[str] = set()
        self.resource_version = 0
        """The version of the newest commit."""
        if past is not None:
            self._restore(past)
        else:
            self._create_initial_objects()
        self._first_version = past.version if past else self.resource_version
        """The version at which it began: what was before was never there to be listed."""

    def _create_initial_objects(self) -> None:
        for name in _INITIAL_NAMESPACES:
            self.create(resources.NAMESPACES, "", {"metadata": {"name": name}})

    def _restore(self, past: watching.Past) -> None:
        """Take over a past, without telling anybody; what it left undone is garbage to collect."""
        self.resource_version = past.version
        for resource, stored in past.objects:
            self._keep(
                watching.Commit(resource=resource, type="ADDED", object=stored, previous=None)
            )
        for change in past.changes:
            previous = self._tables[change.resource].get(
                (change.object.namespace, change.object.name)
            )
            commit = watching.Commit(
                resource=change.resource,
                type=change.type,
                object=change.object,
                previous=previous,
            )
            self.resource_version = change.object.resource_version
            self._keep(commit)
            self._history.append(commit)
        for key, namespace in self._tables[resources.NAMESPACES].items():
            if namespace.deleting:
                self._garbage.append((resources.NAMESPACES, key))

    # -------------------------------------------------------------- reading

    def get(self, resource: resources.ResourceType, namespace: str, name: str) -> storing.Stored:
        """The object; 404 when there is none."""
        return converting.outward(resource, self._find(table_of(resource), namespace, name))

    def _find(self, resource: resources.ResourceType, namespace: str, name: str) -> storing.Stored:
        stored = self._tables[resource].get((namespace, name))
        if stored is None:
            raise statuses.not_found(resource, name)
        return stored

    def select(self, selection: watching.Selection) -> list[storing.Stored]:
        """The selected objects, ordered by namespace and name."""
        table = self._tables[table_of(selection.resource)]
        found = [stored for stored in table.values() if selection.has(stored)]
        return _listed(selection.resource, found)

    def select_at(self, selection: watching.Selection, version: int) -> list[storing.Stored]:
        """The objects that were selected at a version; 410 when that is too long ago."""
        if version < self._first_version:
            raise statuses.expired(version, self._first_version)
        resource = table_of(selection.resource)
        commits = self._history.after(resource, version)
        if not commits:
            return self.select(selection)
        table = dict(self._tables[resource])
        for commit in reversed(commits):
            key = (commit.object.namespace, commit.object.name)
            if commit.previous is None:
                table.pop(key, None)
            else:
                table[key] = commit.previous
        found = [stored for stored in table.values() if selection.has(stored)]
        return _listed(selection.resource, found)

    def tables(self) -> list[tuple[resources.ResourceType, list[storing.Stored]]]:
        """Every object as it is now, by resource."""
        return [(resource, list(table.values())) for resource, table in self._tables.items()]

    def commits_after(
        self, resource: resources.ResourceType, version: int
    ) -> list[watching.Commit]:
        """The commits of a resource after a version; 410 when they are no longer all there."""
        return self._history.after(table_of(resource), version)

    def compact(self, resource: resources.ResourceType) -> None:
        """Forget the history of a resource, as compaction does."""
        self._history.compact(table_of(resource))

    def listen(self, listener: Listener) -> None:
        """Be told of every commit, in order, from now on."""
        self._listeners.append(listener)

    # -------------------------------------------------------------- writing

    def create(
        self,
        resource: resources.ResourceType,
        namespace: str,
        document: Document,
        *,
        dry_run: bool = False,
    ) -> storing.Stored:
        """Store a new object and return it."""
        served, resource = resource, table_of(resource)
        document = converting.inward(served, document)
        meta = self._identify(resource, namespace, document)
        self._require_namespace(resource, namespace, meta["name"])
        strategies.prepare_create(resource, document, now=self._now)
        self._admit(resource, document, None)
        validating.check_create(
            served, document, namespace_labels=lambda: self._namespace_labels(namespace)
        )
        meta["uid"] = str(uuid.UUID(int=self._stream.getrandbits(128), version=4))
        meta["creationTimestamp"] = self._now()
        if dry_run:
            return converting.outward(served, storing.store(document, self.resource_version))
        stored = storing.store(document, self.resource_version + 1)
        self._commit(resource, "ADDED", stored, None)
        return converting.outward(served, stored)

    def update(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        document: Document,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> storing.Stored:
        """Replace an object (or its status); 409 when the document is not based on the current version."""
        served, resource = resource, table_of(resource)
        document = converting.inward(served, document)
        old = self._find(resource, namespace, name)
        meta = self._require_same(resource, old, document)
        version = meta.get("resourceVersion") or ""
        if not version and resource.requires_version_on_update and not subresource:
            at = "metadata.resourceVersion"
            cause = statuses.invalid_value(at, "0", "must be specified for an update")
            raise statuses.invalid(resource, name, [cause])
        if version not in ("", "0") and version != str(old.resource_version):
            raise statuses.stale(resource, name)
        new = self._replace(resource, old, document, subresource=subresource, dry_run=dry_run)
        return converting.outward(served, new)

    def patch(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        change: Callable[[Document], Document],
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> storing.Stored:
        """Change the current version of an object; a patch without a version cannot conflict (dra.md 4.3)."""
        served, resource = resource, table_of(resource)
        old = self._find(resource, namespace, name)
        document = change(converting.outward(served, old).document())
        document = converting.inward(served, document)
        if (uid := (document.get("metadata") or {}).get("uid")) not in (None, "", old.uid):
            raise validating.changed_uid(resource, name, uid)
        meta = self._require_same(resource, old, document)
        if meta.get("resourceVersion") not in (None, "", str(old.resource_version)):
            raise statuses.stale(resource, name)
        new = self._replace(resource, old, document, subresource=subresource, dry_run=dry_run)
        return converting.outward(served, new)

    def bind(self, namespace: str, name: str, binding: Document) -> None:
        """Assign a pod to a node, once (dra.md 4.10)."""
        node = (binding.get("target") or {}).get("name")
        if not node:
            raise statuses.StatusError(500, "", "target.name: Required value")
        old = self._find(resources.PODS, namespace, name)
        pod = old.document()
        self._require_preconditions(resources.PODS, old, binding.get("metadata") or {})
        if why := _unbindable(pod):
            raise statuses.conflict(
                resources.PODS, name, f"pod {name} {why}", subresource="binding"
            )
        pod["spec"]["nodeName"] = node
        for key in ("labels", "annotations"):
            pod["metadata"].setdefault(key, {}).update(
                (binding.get("metadata") or {}).get(key) or {}
            )
            if not pod["metadata"][key]:
                del pod["metadata"][key]
        self._set_scheduled(pod)
        self._put(resources.PODS, old, pod)

    def delete(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        *,
        grace_period_s: int | None = None,
        preconditions: Document | None = None,
        orphan: bool = False,
    ) -> tuple[storing.Stored, bool]:
        """Begin or finish the deletion of an object; (its last state, whether it is gone)."""
        old = self._find(table_of(resource), namespace, name)
        self._require_delete_preconditions(resource, old, preconditions or {})
        if orphan:
            self._orphan_dependents(old.uid)
        last, gone = self._delete(table_of(resource), old, grace_period_s)
        return converting.outward(resource, last), gone

    def _delete(
        self, resource: resources.ResourceType, old: storing.Stored, grace_period_s: int | None
    ) -> tuple[storing.Stored, bool]:
        document = old.document()
        grace_s = 0
        if resource is resources.PODS:
            grace_s = strategies.grace_seconds(document, grace_period_s)
        elif resource is resources.NAMESPACES:
            return self._begin_namespace_deletion(old, document), False
        meta = document["metadata"]
        if not grace_s and not meta.get("finalizers"):
            return self._remove(resource, old), True
        known_grace_s = meta.get("deletionGracePeriodSeconds")
        if old.deleting and known_grace_s is not None and grace_s >= known_grace_s:
            return old, False
        meta["deletionTimestamp"] = self._now()
        meta["deletionGracePeriodSeconds"] = grace_s
        return self._put(resource, old, document), False

    # -------------------------------------------------------------- garbage

    def collect_garbage_step(self) -> bool:
        """Delete one object whose owners are gone, or one of a deleted namespace; False when there was none."""
        while self._garbage:
            resource, key = self._garbage.popleft()
            if resource is resources.NAMESPACES:
                if self._empty_namespace_step(key[1]):
                    return True
            elif self._collect(resource, key):
                return True
        return False

    def _collect(self, resource: resources.ResourceType, key: Key) -> bool:
        stored = self._tables[resource].get(key)
        if stored is None or stored.deleting or any(uid in self._uids for uid in stored.owners):
            return False
        self.delete(resource, *key, preconditions={"uid": stored.uid})
        return True

    def _empty_namespace_step(self, namespace: str) -> bool:
        """Delete one object of a terminating namespace; the namespace itself when it is empty."""
        left = 0
        for resource, table in self._tables.items():
            for (place, name), stored in table.items():
                if place != namespace:
                    continue
                left += 1
                if stored.deleting and resource is not resources.PODS:
                    continue
                last, _ = self.delete(resource, place, name, grace_period_s=0)
                if last is not stored:
                    self._garbage.append((resources.NAMESPACES, ("", namespace)))
                    return True
        old = self._tables[resources.NAMESPACES].get(("", namespace))
        if left == 0 and old is not None and old.deleting:
            self._remove(resources.NAMESPACES, old)
            return True
        return False  # what is left has finalizers: whoever removes the last one brings us back

    def _begin_namespace_deletion(self, old: storing.Stored, document: Document) -> storing.Stored:
        self._garbage.append((resources.NAMESPACES, ("", old.name)))
        if old.deleting:
            return old
        document["metadata"]["deletionTimestamp"] = self._now()
        document["status"] = {"phase": "Terminating"}
        return self._put(resources.NAMESPACES, old, document)

    def _orphan_dependents(self, uid: str) -> None:
        for resource, key in sorted(self._dependents.get(uid, ()), key=lambda item: item[1]):
            old = self._tables[resource].get(key)
            if old is None:
                continue
            document = old.document()
            owners = document["metadata"].get("ownerReferences") or []
            document["metadata"]["ownerReferences"] = [o for o in owners if o["uid"] != uid]
            self._put(resource, old, document)

    # -------------------------------------------------------------- rules

    def _identify(
        self, resource: resources.ResourceType, namespace: str, document: Document
    ) -> Document:
        meta = document.setdefault("metadata", {})
        document["apiVersion"], document["kind"] = resource.api_version, resource.kind
        if meta.get("resourceVersion") not in (None, "", "0"):
            raise statuses.bad_request("resourceVersion should not be set on objects to be created")
        self._set_namespace(resource, namespace, meta)
        if not meta.get("name"):
            meta["name"] = self._generated_name(resource, namespace, meta.get("generateName"))
        elif (namespace, meta["name"]) in self._tables[table_of(resource)]:
            raise statuses.already_exists(resource, meta["name"])
        return meta  # type: ignore[no-any-return]

    def _set_namespace(
        self, resource: resources.ResourceType, namespace: str, meta: Document
    ) -> None:
        if not resource.namespaced:
            meta.pop("namespace", None)
            return
        if meta.get("namespace", namespace) != namespace:
            raise statuses.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = namespace

    def _generated_name(
        self, resource: resources.ResourceType, namespace: str, base: str | None
    ) -> str:
        if not base:
            why = "name or generateName is required"
            raise statuses.invalid(resource, "", [statuses.required("metadata.name", why)])
        for _ in range(GENERATE_TRIES_MAX):
            name = naming.generate(base, self._stream)
            if (namespace, name) not in self._tables[table_of(resource)]:
                return name
        raise statuses.already_exists(resource, base)

    def _require_namespace(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> None:
        if not resource.namespaced:
            return
        stored = self._tables[resources.NAMESPACES].get(("", namespace))
        if stored is None:
            raise statuses.not_found(resources.NAMESPACES, namespace)
        if stored.deleting:
            why = (
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated"
            )
            raise statuses.denied(resource, name, why)

    def _namespace_labels(self, namespace: str) -> dict[str, str]:
        return dict(self._tables[resources.NAMESPACES]["", namespace].labels)

    def _admit(
        self, resource: resources.ResourceType, document: Document, old: Document | None
    ) -> None:
        if resource is not resources.PODS:
            return
        admitting.tolerate(document["spec"])
        if old is not None:
            admitting.keep_priority(document["spec"], old["spec"])
            return
        classes = self._tables[resources.PRIORITY_CLASSES]
        admitting.prioritise(
            document,
            find_class=self._finding(resources.PRIORITY_CLASSES),
            classes=lambda: [item.document() for item in classes.values()],
        )
        find_runtime = self._finding(resources.RUNTIME_CLASSES)
        admitting.require_runtime_class(document, find_class=find_runtime)

    def _finding(self, resource: resources.ResourceType) -> Callable[[str], Document | None]:
        def find(name: str) -> Document | None:
            stored = self._tables[resource].get(("", name))
            return stored.document() if stored else None

        return find

    def _require_same(
        self, resource: resources.ResourceType, old: storing.Stored, document: Document
    ) -> Document:
        meta = document.setdefault("metadata", {})
        document["apiVersion"], document["kind"] = resource.api_version, resource.kind
        if meta.get("name", old.name) != old.name:
            raise statuses.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({old.name})"
            )
        meta["name"] = old.name
        self._set_namespace(resource, old.namespace, meta)
        if meta.get("uid") not in (None, "", old.uid):
            raise statuses.conflict(
                resource, old.name, _uid_precondition(resource, old, meta["uid"])
            )
        return meta  # type: ignore[no-any-return]

    def _require_preconditions(
        self, resource: resources.ResourceType, old: storing.Stored, meta: Document
    ) -> None:
        if meta.get("uid") not in (None, "", old.uid):
            raise statuses.conflict(
                resource, old.name, _uid_precondition(resource, old, meta["uid"])
            )
        version = meta.get("resourceVersion")
        if version not in (None, "", str(old.resource_version)):
            key = f"/registry/{resource.plural}/{old.namespace}/{old.name}"
            why = (
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: {version}, "
                f"ResourceVersion in object meta: {old.resource_version}"
            )
            raise statuses.conflict(resource, old.name, why)

    def _require_delete_preconditions(
        self, resource: resources.ResourceType, old: storing.Stored, wanted: Document
    ) -> None:
        uid, version = wanted.get("uid"), wanted.get("resourceVersion")
        why = ""
        if uid is not None and uid != old.uid:
            why = (
                f"the UID in the precondition ({uid}) does not match the UID in record "
                f"({old.uid}). The object might have been deleted and then recreated"
            )
        elif version is not None and version != str(old.resource_version):
            why = (
                f"the ResourceVersion in the precondition ({version}) does not match the "
                f"ResourceVersion in record ({old.resource_version}). The object might have been modified"
            )
        if why:
            message = (
                f'Operation cannot be fulfilled on {resource.qualified_kind} "{old.name}": {why}'
            )
            details = {"name": old.name, "group": resource.group, "kind": resource.kind}
            raise statuses.StatusError(
                409, "Conflict", message, {key: value for key, value in details.items() if value}
            )

    def _set_scheduled(self, pod: Document) -> None:
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        conditions[:] = [item for item in conditions if item.get("type") != "PodScheduled"]
        conditions.append(
            {
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": self._now(),
            }
        )

    # -------------------------------------------------------------- commits

    def _replace(
        self,
        resource: resources.ResourceType,
        old: storing.Stored,
        document: Document,
        *,
        subresource: str,
        dry_run: bool,
    ) -> storing.Stored:
        before = old.document()
        strategies.prepare_update(
            resource, document, before, subresource=subresource, now=self._now
        )
        self._admit(resource, document, before)
        validating.check_update(
            resource,
            document,
            before,
            subresource=subresource,
            namespace_labels=lambda: self._namespace_labels(old.namespace),
        )
        document["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if document == before:
            return old  # nothing was changed: no commit, no event, the old version
        if dry_run:
            return storing.store(document, old.resource_version)
        if old.deleting and _is_done(resource, document):
            self._remove(resource, old, document)
            return storing.store(document, self.resource_version)
        return self._put(resource, old, document)

    def _put(
        self, resource: resources.ResourceType, old: storing.Stored, document: Document
    ) -> storing.Stored:
        stored = storing.store(document, self.resource_version + 1)
        self._commit(resource, "MODIFIED", stored, old)
        return stored

    def _remove(
        self,
        resource: resources.ResourceType,
        old: storing.Stored,
        document: Document | None = None,
    ) -> storing.Stored:
        last = storing.store(document or old.document(), self.resource_version + 1)
        self._commit(resource, "DELETED", last, old)
        return last

    def _commit(
        self,
        resource: resources.ResourceType,
        kind: watching.EventType,
        stored: storing.Stored,
        old: storing.Stored | None,
    ) -> None:
        resource = table_of(resource)
        self.resource_version = stored.resource_version
        commit = watching.Commit(resource=resource, type=kind, object=stored, previous=old)
        self._keep(commit)
        self._history.append(commit)
        for listener in self._listeners:
            listener(commit)

    def _keep(self, commit: watching.Commit) -> None:
        """Have the tables say what the commit says."""
        resource, stored = commit.resource, commit.object
        key = (stored.namespace, stored.name)
        gone = commit.type == "DELETED"
        if gone:
            del self._tables[resource][key]
        else:
            self._tables[resource][key] = stored
        self._track_owners(resource, key, stored, commit.previous, gone=gone)

    def _track_owners(
        self,
        resource: resources.ResourceType,
        key: Key,
        stored: storing.Stored,
        old: storing.Stored | None,
        *,
        gone: bool,
    ) -> None:
        owners = () if gone else stored.owners
        _change_index(self._dependents, old.owners if old else (), owners, (resource, key))
        if gone:
            self._uids.discard(stored.uid)
            self._garbage.extend(sorted(self._dependents.get(stored.uid, ()), key=lambda d: d[1]))
            if stored.namespace and self._is_terminating(stored.namespace):
                self._garbage.append((resources.NAMESPACES, ("", stored.namespace)))
        else:
            self._uids.add(stored.uid)
            if owners and not any(uid in self._uids for uid in owners):
                self._garbage.append((resource, key))

    def _is_terminating(self, namespace: str) -> bool:
        stored = self._tables[resources.NAMESPACES].get(("", namespace))
        return stored is not None and stored.deleting


def _listed(resource: resources.ResourceType, found: list[storing.Stored]) -> list[storing.Stored]:
    """Objects in the order of their keys in etcd, as clients of the resource see them."""
    found.sort(key=lambda stored: f"{stored.namespace}/{stored.name}")
    if table_of(resource) is resource:
        return found
    return [converting.outward(resource, stored) for stored in found]


def _is_done(resource: resources.ResourceType, document: Document) -> bool:
    """Whether an object that is being deleted has nothing left to wait for; a namespace waits for what is in it."""
    meta = document["metadata"]
    waits = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return not waits and resource is not resources.NAMESPACES


def _unbindable(pod: Document) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f'is already assigned to node "{node}"'
    if pod["spec"].get("schedulingGates"):
        return "has non-empty .spec.schedulingGates"
    return ""


def _uid_precondition(resource: resources.ResourceType, old: storing.Stored, wanted: str) -> str:
    folder = "minions" if resource is resources.NODES else resource.plural
    key = "/".join(part for part in ("/registry", folder, old.namespace, old.name) if part)
    return (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, "
        f"UID in object meta: {old.uid}"
    )


def _change_index(
    index: dict[str, set[tuple[resources.ResourceType, Key]]],
    before: Iterable[str],
    after: Iterable[str],
    entry: tuple[resources.ResourceType, Key],
) -> None:
    for uid in before:
        index.get(uid, set()).discard(entry)
        if uid in index and not index[uid]:
            del index[uid]
    for uid in after:
        index.setdefault(uid, set()).add(entry)
