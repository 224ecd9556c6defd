"""Slices with the taints of DeviceTaintRules, and what the tracker tells about them."""

import json
from typing import Any

import pytest

from harness.client import apis, served_informers, transports
from harness.subject import assembling
from harness.subject.slice_tracking import slice_trackers, taint_rules
from tests.support import api_objects

Object = dict[str, Any]
TAINT = {"key": "broken", "effect": "NoSchedule"}


def rule(name: str, selector: Object | None, **taint: str) -> Object:
    spec: Object = {"taint": TAINT | taint}
    if selector is not None:
        spec["deviceSelector"] = selector
    return {"metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": spec}


def piece(*devices: str, version: int = 1, pool: str = "worker-0") -> Object:
    made = api_objects.slice_of(*devices, pool=pool)
    meta = {**made["metadata"], "uid": made["metadata"]["name"], "resourceVersion": str(version)}
    return {**made, "metadata": meta}


class Seen:
    """A handler that keeps what it is told."""

    def __init__(self) -> None:
        self.slices: dict[str, Object] = {}
        self.told: list[str] = []

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        self.told.append("add")
        assert obj["metadata"]["name"] not in self.slices
        self.slices[obj["metadata"]["name"]] = obj

    def on_update(self, old: Object, new: Object) -> None:
        self.told.append("update")
        assert self.slices[new["metadata"]["name"]] == old
        self.slices[new["metadata"]["name"]] = new

    def on_delete(self, last: Object) -> None:
        self.told.append("delete")
        del self.slices[last["metadata"]["name"]]

    def taints(self) -> dict[str, list[str]]:
        return {
            device["name"]: [taint["key"] for taint in device.get("taints") or ()]
            for known in self.slices.values()
            for device in known["spec"]["devices"]
        }


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def tracker(seen: Seen) -> slice_trackers.SliceTracker:
    classes = {"odd": api_objects.device_class("device.driver == 'gpu.example.com'", name="odd")}
    return slice_trackers.SliceTracker([seen], lambda: classes)


@pytest.mark.parametrize(
    ("release", "tainted"), [(None, False), ("1.36.2", True), ("1.34.2", True)]
)
def test_a_rule_without_a_selector_is_for_all_devices_in_the_releases(
    seen: Seen, release: str | None, tainted: bool
) -> None:
    """kubernetes#141620."""
    tracker = assembling.parts((), (), release).slice_tracker([seen])
    tracker.on_add(piece("a"), initial=True)
    tracker.rules.on_add(rule("other", {"device": "b"}), initial=True)
    tracker.rules.on_add(rule("r", None), initial=False)
    assert seen.taints() == {"a": ["broken"] * tainted}


def test_a_rule_that_goes_or_selects_something_else_leaves_no_taint(
    seen: Seen, tracker: slice_trackers.SliceTracker
) -> None:
    tracker.on_add(piece("a", "b"), initial=True)
    first, second = rule("r", {"device": "a"}), rule("r", {"device": "b"})
    tracker.rules.on_add(first, initial=False)
    tracker.rules.on_update(first, second)
    assert seen.taints() == {"a": [], "b": ["broken"]}
    tracker.rules.on_delete(second)
    assert seen.taints() == {"a": [], "b": []}
    assert seen.told == ["add", "update", "update", "update"]


def test_a_new_version_of_a_slice_keeps_the_taints_of_the_rules(
    seen: Seen, tracker: slice_trackers.SliceTracker
) -> None:
    tracker.rules.on_add(rule("r", {"device": "b"}), initial=True)
    tracker.on_add(piece("a"), initial=True)
    tracker.on_update(piece("a"), piece("a", "b", version=2))
    assert seen.taints() == {"a": [], "b": ["broken"]}
    tracker.on_delete(piece("a", "b", version=3))
    assert seen.slices == {}
    assert seen.told == ["add", "update", "delete"]


def test_what_changes_no_slice_is_not_told(
    seen: Seen, tracker: slice_trackers.SliceTracker
) -> None:
    tracker.on_add(piece("a"), initial=True)
    old = rule("r", {"device": "b"})
    tracker.rules.on_add(old, initial=False)
    tracker.rules.on_update(old, old | {"status": {"conditions": []}})
    tracker.device_classes.on_add(api_objects.device_class(), initial=False)
    tracker.on_delete(piece("x", pool="worker-7"))
    assert seen.told == ["add"]


def test_a_class_that_appears_later_is_considered(seen: Seen) -> None:
    classes: dict[str, Object] = {}
    tracker = slice_trackers.SliceTracker([seen], lambda: classes)
    tracker.on_add(piece("a"), initial=True)
    tracker.rules.on_add(rule("r", {"deviceClassName": "late"}), initial=False)
    assert seen.taints() == {"a": []}
    classes["late"] = api_objects.device_class(name="late")
    tracker.device_classes.on_add(classes["late"], initial=False)
    assert seen.taints() == {"a": ["broken"]}


def test_an_event_is_marked_once_the_handlers_have_seen_it(
    tracker: slice_trackers.SliceTracker, steps: list[tuple[str, dict[str, object]]]
) -> None:
    """The check of tainted devices relies on it."""
    tracker.on_add(piece("a"), initial=True)
    tracker.rules.on_add(rule("r", {}), initial=False)
    tracker.on_delete(piece("a", version=5))
    assert steps == [
        ("slice-tracker.event.popped", {"slice": "worker-0-1", "version": "1", "handler": "Seen"}),
        ("slice-tracker.handled", {"of": "slices", "version": 1}),
        ("slice-tracker.event.popped", {"slice": "worker-0-1", "version": "1", "handler": "Seen"}),
        ("slice-tracker.handled", {"of": "rules", "version": 1}),
        ("slice-tracker.event.popped", {"slice": "worker-0-1", "version": "1", "handler": "Seen"}),
        ("slice-tracker.handled", {"of": "slices", "version": 5}),
    ]


def test_devices_without_new_taints_stay_the_same_objects() -> None:
    """So what is known about them by selector stays known."""
    given = piece("a", "b")
    merged = taint_rules.with_taints(given, [rule("r", {"device": "a"})], {})
    assert merged["spec"]["devices"][1] is given["spec"]["devices"][1]
    assert merged["spec"]["devices"][0] is not given["spec"]["devices"][0]


class Discovery:
    """A transport that knows the rules in some versions."""

    def __init__(self, *versions: str) -> None:
        self._versions = versions

    def send(self, request: transports.Request) -> transports.Response:
        if request.path.removeprefix("/apis/resource.k8s.io/") not in self._versions:
            return transports.Response(404, b"404 page not found")
        listed = {"resources": [{"name": "devicetaintrules"}, {"name": "devicetaintrules/status"}]}
        return transports.Response(200, json.dumps(listed).encode())


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ((), None),
        (("v1alpha3",), apis.OLD_TAINT_RULES),
        (("v1alpha3", "v1beta2"), apis.TAINT_RULES),
    ],
)
def test_the_newest_served_version_is_followed(
    versions: tuple[str, ...], expected: apis.Resource | None
) -> None:
    api = apis.Api(Discovery(*versions))  # type: ignore[arg-type]
    informer = served_informers.ServedInformer(api, taint_rules.VERSIONS, ())
    assert informer.served(timeout_s=1) is expected
