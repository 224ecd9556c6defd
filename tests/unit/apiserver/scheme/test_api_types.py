"""The types of the API, read from the published definitions."""

import pathlib
import runpy

import pytest

from harness.apiserver.scheme import api_types, resources


def test_empty_objects_as_go_encodes_them():
    assert api_types.of(resources.CLAIMS).zero() == {
        "metadata": {},
        "spec": {"devices": {"requests": None}},
        "status": {},
    }
    assert api_types.of(resources.EVENTS).zero()["eventTime"] is None


def test_zero_values_are_fresh():
    spec = api_types.of(resources.CLAIMS)
    spec.zero()["status"]["changed"] = True

    assert spec.zero()["status"] == {}


def test_every_reference_leads_to_a_definition():
    seen = set()
    waiting = [api_types.definition(name) for name in api_types.raw()]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        waiting += [field.type for field in here.fields.values()]
        waiting += [here.item] if here.item else []

    assert len(seen) > len(api_types.raw())


# ---------------------------------------------------------------- tables of the data

TOOLS = pathlib.Path(__file__).parents[4] / "tools"


def _lines(table):
    text = runpy.run_path(str(TOOLS / "go_types.py"))[table]
    return [
        (name, field)
        for name, *fields in map(str.split, text.strip().splitlines())
        for field in fields
    ]


def _nodes(name, field):
    group, _, kind = name.rsplit(".", 2)
    for full, node in api_types.raw().items():
        if full.rsplit(".", 2)[0].endswith(f".{group}") and full.endswith(f".{kind}"):
            yield from filter(None, [node.get("properties", {}).get(field)])


@pytest.mark.parametrize(
    ("table", "mark", "value"),
    [
        ("VALUE_STRUCTS", "x-go-always", True),
        ("NO_OMITEMPTY", "x-go-always", True),
        ("POINTERS", "x-go-pointer", True),
        ("OMITTED", "x-go-always", None),
    ],
)
def test_the_data_say_what_the_tables_say(table, mark, value):
    for name, field in _lines(table):
        marks = {node.get(mark) for node in _nodes(name, field)}
        assert marks == {value}, f"{name} {field}: run tools/schemas.py"
