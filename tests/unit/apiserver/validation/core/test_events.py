"""Events of both groups."""

from typing import Any

import pytest

from harness.apiserver.validation.core import small_kinds

Document = dict[str, Any]


def event(namespace: str = "default", place: str = "default", **fields: Any) -> Document:
    meta = {"name": "e", "namespace": namespace}
    return {"metadata": meta, "involvedObject": {"namespace": place}, **fields}


STYLED = {
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "x",
    "reportingInstance": "y",
    "action": "a",
    "reason": "r",
}


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        (event(), []),
        (event(place=""), []),
        (event("other", ""), [("involvedObject.namespace", "Invalid")]),
        (event("other", "default"), [("involvedObject.namespace", "Invalid")]),
        (event(**STYLED), []),
        (event("kube-system", "", **STYLED), []),
        (
            event(**STYLED | {"action": "", "reason": "r" * 129, "message": "m" * 1025}),
            [("action", "Required"), ("reason", "Invalid"), ("message", "Invalid")],
        ),
    ],
)
def test_events(fields: Any, document: Document, wrong: list[Any]) -> None:
    assert fields(small_kinds.event(document)) == wrong


def test_a_series_has_at_least_two_events(fields: Any) -> None:
    wrong = [("series.count", "Invalid"), ("series.lastObservedTime", "Required")]
    assert (
        fields(small_kinds.new_event(event(type="Normal", series={"count": 1}, **STYLED))) == wrong
    )


def test_each_group_names_the_controller_differently(fields: Any) -> None:
    anonymous = event(type="Normal", **STYLED | {"reportingComponent": "-"})
    assert fields(small_kinds.event(anonymous)) == [("reportingComponent", "Invalid")]
    assert fields(small_kinds.new_event(anonymous)) == [("reportingController", "Invalid")]


def test_events_of_the_new_group_need_an_event_time(fields: Any) -> None:
    assert fields(small_kinds.new_event(event(type="Normal", **STYLED))) == []
    assert fields(small_kinds.new_event(event(count=1))) == [
        ("eventTime", "Required"),
        ("type", "Invalid"),
        ("count", "Invalid"),
    ]
