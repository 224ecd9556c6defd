"""Objects come out of decoding as Go would write them again."""

import hypothesis
import pytest
from hypothesis import strategies as st

from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding

PODS, CLAIMS = api_types.of(resources.PODS), api_types.of(resources.CLAIMS)


def read(kind, value):
    return decoding.read(kind, value)


def _pod(**spec):
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a"}], **spec},
        "status": {},
    }


def test_what_the_server_does_not_look_into_stays_although_it_is_empty():
    for parameters in ({}, [], "", 0, False):
        config = [{"opaque": {"driver": "d", "parameters": parameters}}]
        made = read(api_types.of(resources.DEVICE_CLASSES), {"spec": {"config": config}})
        assert made["spec"]["config"] == config


def test_null_items_are_empty_items():
    container = {"name": "a", "args": ["x", None], "env": [None]}
    made = read(PODS, {"spec": {"containers": [container]}, "metadata": {"labels": {"a": None}}})

    assert made["spec"]["containers"][0]["args"] == ["x", ""]
    assert made["spec"]["containers"][0]["env"] == [{"name": ""}]
    assert made["metadata"]["labels"] == {"a": ""}


def test_wrong_types_are_refused():
    for spec in (
        {"containers": "x"},
        {"containers": [1]},
        {"priority": "1"},
        {"priority": 1.5},
        {"priority": 2**31},
        {"priority": True},
        {"hostNetwork": 1},
        {"nodeName": 1},
        {"nodeSelector": []},
        {"nodeSelector": {"a": 1}},
        {"securityContext": []},
        {"overhead": {"cpu": "lots"}},
    ):
        with pytest.raises(decoding.MismatchError):
            read(PODS, _pod(**spec))


# ------------------------------------------------------------------ any object

_VALUES = {
    "string": st.sampled_from(["", "a"]),
    "boolean": st.booleans(),
    "integer": st.integers(-1, 2),
    "number": st.integers(0, 2),
    "bytes": st.sampled_from(["", "eHl6"]),
    "quantity": st.sampled_from(["0", "1500m", "1024Mi", 3]),
    "int_or_string": st.sampled_from([0, 1, "25%"]),
    "time": st.sampled_from(["2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00"]),
    "micro_time": st.just("2024-01-01T00:00:00.123456Z"),
    "any": st.just({"a": 1}),
}


def _values(kind, depth):
    if kind.kind == "object":
        return _objects(kind, depth)
    if kind.kind == "list":
        return st.lists(_values(kind.item, depth), max_size=2)
    if kind.kind == "map":
        return st.dictionaries(st.sampled_from("ab"), _values(kind.item, depth), max_size=2)
    return _VALUES[kind.kind]


@st.composite
def _objects(draw, kind, depth):
    names = sorted(kind.fields) if depth else []
    chosen = draw(st.lists(st.sampled_from(names), max_size=6, unique=True)) if names else []
    return {name: draw(st.none() | _values(kind.fields[name].type, depth - 1)) for name in chosen}


@hypothesis.settings(
    max_examples=150, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
@hypothesis.given(st.data())
def test_reading_again_changes_nothing(data):
    kind = api_types.of(data.draw(st.sampled_from(resources.ALL)))
    made = read(kind, data.draw(_objects(kind, 5)))

    assert read(kind, made) == made
