"""Random operations against the store and the reference at once: every answer and every event has
to be the expected one.
"""

import collections
import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from tests.model_based import reference, servers

LABEL = "t"
FINALIZERS = ("example.com/a", "example.com/b")
NODE = "n1"
FUTURE = 1_000_000
WRONG_UID = "00000000-0000-4000-8000-000000000000"

kinds = st.sampled_from(reference.KINDS)
names = st.sampled_from(["a", "b", "c"])
labels = st.sampled_from([{}, {LABEL: "x"}, {LABEL: "y"}])
finalizer_sets = st.sampled_from([[], [], [], [FINALIZERS[0]], [FINALIZERS[1]], list(FINALIZERS)])
values = st.sampled_from(["1", "2"])
versions = st.sampled_from(["none", "current", "current", "old", "future"])
uids = st.sampled_from(["none", "right", "wrong"])
selectors = st.sampled_from([None, (LABEL, "x"), (LABEL, "y")])


@dataclasses.dataclass(frozen=True)
class Wanted:
    """An object that is to be changed, and which version and uid of it."""

    kind: str
    name: str
    version: str
    uid: str

    @property
    def key(self) -> reference.Key:
        return self.kind, self.name


wanted = st.builds(Wanted, kinds, names, versions, uids)
HISTORY_MAX = 12
TAKEN: collections.Counter[str] = collections.Counter()
"""How often each rule was taken, over all runs of this process."""


class Machine(stateful.RuleBasedStateMachine):
    """The store and the reference, which do the same."""

    def start(self) -> servers.StoreServer:
        return servers.StoreServer(HISTORY_MAX)

    def __init__(self) -> None:
        super().__init__()
        self.server = self.start()
        listing = self.server.ask("GET", self.path("configmaps"))
        version = int(listing.body["metadata"]["resourceVersion"])
        self.reference = reference.Reference(version, history_max=HISTORY_MAX)
        self.first_version = version
        self.watches: list[tuple[servers.Watch, str, reference.Selector, int]] = []
        self.past: dict[reference.Key, list[int]] = collections.defaultdict(list)
        self.known_uids: set[str] = set()

    def path(self, kind: str, name: str = "", subresource: str = "") -> str:
        parts = ("/api/v1/namespaces/default", kind, name, subresource)
        return "/".join(part for part in parts if part)

    # -------------------------------------------------------------- creating

    @stateful.rule(
        kind=kinds,
        name=names,
        labels=labels,
        finalizers=finalizer_sets,
        on_node=st.booleans(),
        dry=st.sampled_from([False, False, False, True]),
    )
    def create(
        self,
        kind: str,
        name: str,
        labels: dict[str, str],
        finalizers: list[str],
        on_node: bool,
        dry: bool,
    ) -> None:
        document = _document(kind, labels, finalizers, on_node)
        document["metadata"]["name"] = name
        query = {"dryRun": "All"} if dry else {}
        answer = self.server.ask("POST", self.path(kind), document, query=query)
        if dry:
            self._expect_dry_creation(kind, name, answer)
            return
        state = reference.State(
            kind=kind,
            name=name,
            labels=labels,
            finalizers=frozenset(finalizers),
            value="0" if kind == reference.CONFIGMAPS else "",
            node=NODE if on_node and kind == reference.PODS else "",
        )
        self._compare("create", answer, lambda: self._create(state, answer), status=201)

    def _create(self, state: reference.State, answer: servers.Answer) -> reference.State:
        self.reference.create(state)
        uid = answer.body["metadata"].get("uid", "") if answer.status == 201 else ""
        assert uid not in self.known_uids, "a uid was given twice"
        self.known_uids.add(uid)
        self.reference.learn_uid((state.kind, state.name), uid)
        return self.reference.get((state.kind, state.name))

    def _expect_dry_creation(self, kind: str, name: str, answer: servers.Answer) -> None:
        expected = 409 if (kind, name) in self.reference.objects else 201
        assert answer.status == expected, answer

    @stateful.rule(kind=kinds)
    def generate(self, kind: str) -> None:
        """An object whose name the server makes, and which goes again."""
        document = _document(kind, {}, [], False)
        document["metadata"]["generateName"] = "g-"
        answer = self.server.ask("POST", self.path(kind), document)
        assert answer.status == 201, answer
        name = answer.body["metadata"]["name"]
        assert name.startswith("g-"), name
        assert len(name) == 7, name
        state = reference.State(
            kind=kind, name=name, value="0" if kind == reference.CONFIGMAPS else ""
        )
        self._compare("generate", answer, lambda: self._create(state, answer), status=201)
        self._delete((kind, name), {})

    # -------------------------------------------------------------- changing

    @stateful.rule(on=wanted, labels=labels, finalizers=finalizer_sets, value=values)
    def update(self, on: Wanted, labels: dict[str, str], finalizers: list[str], value: str) -> None:
        kind, name = on.key
        found = self.server.ask("GET", self.path(kind, name))
        document = found.body if found.status == 200 else _document(kind, {}, [], False)
        meta = document["metadata"]
        meta |= {"name": name, "labels": labels, "finalizers": finalizers}
        if kind == reference.CONFIGMAPS:
            document["data"] = {"v": value}
        version, uid = self._preconditions(on, meta)
        fields = {"labels": labels, "finalizers": frozenset(finalizers)} | _content(kind, value)
        answer = self.server.ask("PUT", self.path(kind, name), document)
        self._compare(
            "update",
            answer,
            lambda: self.reference.replace(on.key, version=version, uid=uid, **fields),
        )

    @stateful.rule(
        on=wanted,
        label=st.sampled_from(["x", "y", None]),
        value=values,
        finalizers=st.one_of(st.none(), finalizer_sets),
    )
    def merge_patch(
        self, on: Wanted, label: str | None, value: str, finalizers: list[str] | None
    ) -> None:
        if on.uid == "wrong":  # it is not documented which of two mistakes is reported
            on = dataclasses.replace(on, version="none")
        meta: dict[str, Any] = {"labels": {LABEL: label}}
        version, uid = self._preconditions(on, meta)
        fields: dict[str, Any] = {"labels": {LABEL: label} if label else {}}
        if finalizers is not None:
            meta["finalizers"] = finalizers
            fields["finalizers"] = frozenset(finalizers)
        patch: dict[str, Any] = {"metadata": meta}
        if on.kind == reference.CONFIGMAPS:
            patch["data"] = {"v": value}
        fields |= _content(on.kind, value)
        answer = self._patch(on.key, "merge-patch", patch)
        self._compare(
            "merge_patch",
            answer,
            lambda: self.reference.patch(on.key, version=version, uid=uid, **fields),
        )

    @stateful.rule(kind=kinds, name=names, tested=values, value=st.sampled_from(["x", "y"]))
    def json_patch(self, kind: str, name: str, tested: str, value: str) -> None:
        """A JSON patch that tests a label before it replaces it."""
        key, at = (kind, name), f"/metadata/labels/{LABEL}"
        tested = {"1": "x", "2": "y"}[tested]
        patch = [
            {"op": "test", "path": at, "value": tested},
            {"op": "replace", "path": at, "value": value},
        ]

        def change() -> reference.State:
            if self.reference.get(key).labels.get(LABEL) != tested:
                raise reference.RefusedError(422, "Invalid")
            return self.reference.patch(key, version=None, uid=None, labels={LABEL: value})

        self._compare("json_patch", self._patch(key, "json-patch", patch), change)

    @stateful.rule(kind=kinds, name=names, finalizer=st.sampled_from(FINALIZERS), add=st.booleans())
    def strategic_patch(self, kind: str, name: str, finalizer: str, add: bool) -> None:
        key = (kind, name)
        field = "finalizers" if add else "$deleteFromPrimitiveList/finalizers"
        patch = {"metadata": {field: [finalizer]}}

        def change() -> reference.State:
            old = self.reference.get(key).finalizers
            new = old | {finalizer} if add else old - {finalizer}
            return self.reference.patch(key, version=None, uid=None, finalizers=new)

        self._compare("strategic_patch", self._patch(key, "strategic-merge-patch", patch), change)

    @stateful.rule(name=names, phase=st.sampled_from(["Pending", "Running", "Succeeded"]))
    def set_phase(self, name: str, phase: str) -> None:
        key = (reference.PODS, name)
        answer = self.server.ask(
            "PATCH",
            self.path(*key, "status"),
            {"status": {"phase": phase}},
            content_type="application/merge-patch+json",
        )
        self._compare(
            "set_phase",
            answer,
            lambda: self.reference.patch(key, version=None, uid=None, phase=phase),
        )

    @stateful.rule(name=names)
    def leave_status_alone(self, name: str) -> None:
        """A patch of a pod that is about its status changes nothing."""
        key = (reference.PODS, name)
        answer = self._patch(key, "merge-patch", {"status": {"phase": "Failed"}})
        self._compare("leave_status_alone", answer, lambda: self.reference.get(key))

    @stateful.rule(name=names)
    def bind(self, name: str) -> None:
        key = (reference.PODS, name)
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        answer = self.server.ask("POST", self.path(*key, "binding"), body)

        def change() -> None:
            self.reference.bind(key, NODE)

        self._compare("bind", answer, change, status=201)

    # -------------------------------------------------------------- deleting

    @stateful.rule(on=wanted, grace_s=st.sampled_from([None, None, 0, 5, 60]))
    def delete(self, on: Wanted, grace_s: int | None) -> None:
        preconditions: dict[str, Any] = {}
        version, uid = self._preconditions(on, preconditions)
        options: dict[str, Any] = {"preconditions": preconditions} if preconditions else {}
        _put(options, "gracePeriodSeconds", grace_s, as_text=False)
        self._delete(on.key, options, grace_s=grace_s, version=version, uid=uid)

    def _delete(
        self,
        key: reference.Key,
        options: dict[str, Any],
        *,
        grace_s: int | None = None,
        version: int | None = None,
        uid: str | None = None,
    ) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        answer = self.server.ask("DELETE", self.path(*key), body)

        def change() -> reference.State | None:
            return self.reference.delete(key, grace_s=grace_s, version=version, uid=uid)

        self._compare("delete", answer, change)

    @stateful.rule(kind=kinds, name=names)
    def delete_dry(self, kind: str, name: str) -> None:
        """A deletion that is not done."""
        answer = self.server.ask("DELETE", self.path(kind, name), query={"dryRun": "All"})
        assert answer.status == (200 if (kind, name) in self.reference.objects else 404), answer
        TAKEN["delete_dry"] += 1

    @stateful.rule(kind=kinds, selector=selectors, grace_s=st.sampled_from([None, None, 0, 5]))
    def delete_collection(
        self, kind: str, selector: reference.Selector, grace_s: int | None
    ) -> None:
        """The deletion of all objects that are selected, one after the other; they are listed as
        they were.
        """
        options = {"apiVersion": "v1", "kind": "DeleteOptions"}
        _put(options, "gracePeriodSeconds", grace_s, as_text=False)
        query = {"labelSelector": "=".join(selector)} if selector else {}
        answer = self.server.ask("DELETE", self.path(kind), options, query=query)
        selected = self._expect_list(kind, selector, answer)
        for state in selected:
            left = self.reference.delete(
                (kind, state.name), grace_s=grace_s, version=None, uid=None
            )
            if left is not None:
                self.past[kind, state.name].append(left.version)
        TAKEN["delete_collection"] += 1

    # -------------------------------------------------------------- reading

    @stateful.rule(kind=kinds, name=names)
    def read(self, kind: str, name: str) -> None:
        answer = self.server.ask("GET", self.path(kind, name))
        self._compare("read", answer, lambda: self.reference.get((kind, name)))

    @stateful.rule(kind=kinds, selector=selectors)
    def list(self, kind: str, selector: reference.Selector) -> None:
        query = {"labelSelector": "=".join(selector)} if selector else {}
        answer = self.server.ask("GET", self.path(kind), query=query)
        self._expect_list(kind, selector, answer)
        TAKEN["list"] += 1

    def _expect_list(
        self, kind: str, selector: reference.Selector, answer: servers.Answer
    ) -> Sequence[reference.State]:
        assert answer.status == 200, answer
        selected = self.reference.select(kind, selector)
        assert [_view(kind, item) for item in answer.body["items"]] == selected
        assert int(answer.body["metadata"]["resourceVersion"]) == self.reference.version
        return selected

    @stateful.precondition(lambda self: len(self.watches) < 4)
    @stateful.rule(kind=kinds, selector=selectors, back=st.sampled_from([0, 0, 1, 3, 10, 40]))
    def watch(self, kind: str, selector: reference.Selector, back: int) -> None:
        version = max(self.reference.version - back, self.first_version)
        watch = self.server.watch(kind, version, selector)
        TAKEN["watch"] += 1
        try:
            self.reference.events_after(kind, version, selector)
        except reference.RefusedError as refusal:
            self._expect_expired(watch, refusal)
            return
        assert not isinstance(watch, servers.Answer), watch
        self.watches.append((watch, kind, selector, version))

    def _expect_expired(
        self, watch: servers.Watch | servers.Answer, refusal: reference.RefusedError
    ) -> None:
        assert isinstance(watch, servers.Answer)
        assert (watch.status, watch.body["reason"]) == (refusal.status, refusal.reason)

    @stateful.precondition(lambda self: self.watches)
    @stateful.rule(number=st.integers(0, 3), resume=st.booleans())
    def follow(self, number: int, resume: bool) -> None:
        """Compare the events of a watch since the last look; then continue it, or resume another
        one where it ended.
        """
        position = number % len(self.watches)
        watch, kind, selector, version = self.watches.pop(position)
        TAKEN["follow"] += 1
        try:
            expected = self.reference.events_after(kind, version, selector)
        except reference.RefusedError:
            return  # compacted under it: an open watch knows more than the history does
        events = watch.take()
        assert [(e["type"], _view(kind, e["object"])) for e in events] == expected
        if expected:
            version = expected[-1][1].version
        if resume:
            resumed = self.server.watch(kind, version, selector)
            assert not isinstance(resumed, servers.Answer), resumed
            watch = resumed
        self.watches.append((watch, kind, selector, version))

    @stateful.rule(kind=kinds)
    def compact(self, kind: str) -> None:
        self.server.compact(kind)
        self.reference.compact(kind)
        TAKEN["compact"] += 1

    # -------------------------------------------------------------- comparing

    def _compare(
        self,
        rule: str,
        answer: servers.Answer,
        change: Callable[[], reference.State | None],
        *,
        status: int = 200,
    ) -> None:
        TAKEN[rule] += 1
        refusal: reference.RefusedError | None = None
        state: reference.State | None = None
        try:
            state = change()
        except reference.RefusedError as error:
            refusal = error
        if refusal is not None:
            got = (answer.status, answer.body.get("reason"))
            assert got == (refusal.status, refusal.reason), answer
            return
        assert answer.status == status, answer
        if state is not None and answer.body.get("kind") != "Status":
            assert _view(state.kind, answer.body) == state
            self.past[state.kind, state.name].append(state.version)

    def _patch(self, key: reference.Key, kind: str, patch: Any) -> servers.Answer:
        return self.server.ask(
            "PATCH", self.path(*key), patch, content_type=f"application/{kind}+json"
        )

    def _preconditions(self, on: Wanted, document: dict[str, Any]) -> tuple[int | None, str | None]:
        """Write the version and the uid that are wanted into a document; return both."""
        state = self.reference.objects.get(on.key)
        current = state.version if state else self.reference.version
        past = [version for version in self.past[on.key] if version != current]
        version = {
            "none": None,
            "current": current,
            "old": past[-1] if past else current - 1,
            "future": current + FUTURE,
        }[on.version]
        right = state.uid if state else WRONG_UID
        uid = {"none": None, "right": right, "wrong": WRONG_UID}[on.uid]
        _put(document, "resourceVersion", version)
        _put(document, "uid", uid)
        return version, uid


def _document(
    kind: str, labels: dict[str, str], finalizers: list[str], on_node: bool
) -> dict[str, Any]:
    meta: dict[str, Any] = {"labels": labels, "finalizers": finalizers}
    if kind == reference.CONFIGMAPS:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"v": "0"}}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "none"}]}
    if on_node:
        spec["nodeName"] = NODE
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _content(kind: str, value: str) -> dict[str, str]:
    return {"value": value} if kind == reference.CONFIGMAPS else {}


def _put(target: dict[str, Any], key: str, value: Any, *, as_text: bool = True) -> None:
    if value is None:
        target.pop(key, None)
    else:
        target[key] = str(value) if as_text else value


def _view(kind: str, document: dict[str, Any]) -> reference.State:
    meta = document["metadata"]
    assert ("deletionTimestamp" in meta) == ("deletionGracePeriodSeconds" in meta), json.dumps(meta)
    return reference.State(
        kind=kind,
        name=meta["name"],
        uid=meta["uid"],
        version=int(meta["resourceVersion"]),
        labels=meta.get("labels", {}),
        finalizers=frozenset(meta.get("finalizers", ())),
        value=document.get("data", {}).get("v", ""),
        node=document.get("spec", {}).get("nodeName", ""),
        phase=document.get("status", {}).get("phase", ""),
        grace_s=meta.get("deletionGracePeriodSeconds"),
    )


def settings(runs: int, steps: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        report_multiple_bugs=False,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
