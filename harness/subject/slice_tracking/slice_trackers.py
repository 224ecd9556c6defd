"""The slice tracker: merges DeviceTaintRules into ResourceSlices, and hands on the results.

After tracker.go of k8s.io/dynamic-resource-allocation/resourceslice/tracker. Informers of slices,
rules and classes call it, each on its own thread. A change is merged under the lock, which queues
an event; the thread that made the change delivers it. One thread delivers at a time, in the order
of the queue, so that the handlers end with the newest state of each slice. Upstream has neither:
see the defects of the slice tracker.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Mapping

from harness import concurrency
from harness.client import informers, passed_versions
from harness.model.objects import Object
from harness.subject.objects import change_handlers
from harness.subject.slice_tracking import taint_rules


@dataclasses.dataclass(frozen=True, slots=True)
class SliceEvent:
    """A change of a merged slice that one of the handlers has not seen yet."""

    handler: informers.EventHandler
    old: Object | None
    """None: the slice is new."""
    new: Object | None
    """None: the slice is gone."""

    def deliver(self) -> None:
        meta = (self.new or self.old or {})["metadata"]
        concurrency.step(
            "slice-tracker.event.popped",
            slice=meta["name"],
            version=meta["resourceVersion"],
            handler=type(self.handler).__name__,
        )
        if self.new is None:
            if self.old is not None:
                self.handler.on_delete(self.old)
        elif self.old is None:
            self.handler.on_add(self.new, initial=False)
        else:
            self.handler.on_update(self.old, self.new)


class SliceTracker(change_handlers.Changes):
    """The merged slices; the event handler of the informer of ResourceSlices."""

    def __init__(
        self,
        handlers: Iterable[informers.EventHandler],
        classes: Callable[[], Mapping[str, Object]] = dict,
    ) -> None:
        """`handlers` receive merged slices; `classes` returns the DeviceClasses by name."""
        super().__init__(self._change_slice)
        self._handlers, self._classes = tuple(handlers), classes
        self._guard = concurrency.condition("slice-tracker")
        self._delivering = False
        """A thread delivers events."""
        self._slices: dict[str, Object] = {}
        """Slices by name, as the informer has them."""
        self._merged: dict[str, Object] = {}
        """Slices by name, with the taints of the rules."""
        self._rules: dict[str, Object] = {}
        """Rules by name, in the order of the names."""
        self._events: collections.deque[SliceEvent] = collections.deque()
        self.rules = change_handlers.Changes(self._change_rule)
        self.device_classes = change_handlers.Changes(lambda *_: self._refresh())
        """The event handlers of the informers of DeviceTaintRules and DeviceClasses."""

    # ------------------------------------------------------------------- slices

    def _change_slice(self, old: Object | None, new: Object | None) -> None:
        name = informers.key_of(new or old or {})
        with self._guard:
            self._slices.pop(name, None)
            if new is not None:
                self._slices[name] = new
        self._sync(name)
        _handled("slices", new or old or {})

    # ------------------------------------------------------------------- rules

    def _change_rule(self, old: Object | None, new: Object | None) -> None:
        """Replace a rule; a change of its status alone changes no slice."""
        if not (old and new and old["spec"] == new["spec"]):
            self._replace_rule(old, new)
        _handled("rules", new or old or {})

    def _replace_rule(self, old: Object | None, new: Object | None) -> None:
        """Merge the slices again that one of the two may select."""
        with self._guard:
            for rule in filter(None, (old, new)):
                self._rules.pop(informers.key_of(rule), None)
            if new is not None:
                self._rules[informers.key_of(new)] = new
                self._rules = dict(sorted(self._rules.items()))
            names = [name for rule in (old, new) if rule for name in self._selected(rule)]
        self._sync_all(names)

    def _refresh(self) -> None:
        """Merge all slices again that rules which depend on a DeviceClass may select."""
        with self._guard:
            rules = [rule for rule in self._rules.values() if taint_rules.names_class(rule)]
            names = [name for rule in rules for name in self._selected(rule)]
        self._sync_all(names)

    def _sync_all(self, names: Iterable[str]) -> None:
        for name in dict.fromkeys(names):
            self._sync(name)

    def _selected(self, rule: Object) -> list[str]:
        return [name for name, obj in self._slices.items() if self._may_select(rule, obj)]

    # ------------------------------------------------------------------- merging

    def _sync(self, name: str) -> None:
        with self._guard:
            self._store(name, self._merge(name))
        self._emit()

    def _merge(self, name: str) -> Object | None:
        obj = self._slices.get(name)
        if obj is None:
            return None
        rules = [rule for rule in self._rules.values() if self._may_select(rule, obj)]
        return taint_rules.with_taints(obj, rules, self._classes() if rules else {})

    def _may_select(self, rule: Object, obj: Object) -> bool:
        return taint_rules.selects_slice(rule, obj["spec"])

    def _store(self, name: str, merged: Object | None) -> None:
        """Store a merged slice, and queue the events; called with the lock held."""
        old = self._merged.pop(name, None)
        if merged is not None:
            self._merged[name] = merged
        if old != merged:
            self._events.extend(SliceEvent(handler, old, merged) for handler in self._handlers)

    # ------------------------------------------------------------------- events

    def _emit(self) -> None:
        """Deliver all queued events in order; when this returns, every handler has seen them."""
        with self._guard:
            while self._delivering:
                self._guard.wait()
            self._delivering = True
        try:
            self._drain()
        finally:
            with self._guard:
                self._delivering = False
                self._guard.notify()

    def _drain(self) -> None:
        while (event := self._next_event()) is not None:
            event.deliver()

    def _next_event(self) -> SliceEvent | None:
        with self._guard:
            return self._events.popleft() if self._events else None


def _handled(what: str, obj: Object) -> None:
    """Mark that an event of slices or rules was dealt with: from now on the allocator knows it."""
    concurrency.step("slice-tracker.handled", of=what, version=passed_versions.version_of(obj))
