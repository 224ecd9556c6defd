"""The types of the API, read from the published definitions."""

import pathlib
import runpy

import pytest

from harness.apiserver.scheme import api_types, resources


def _type(resource, path):
    here = api_types.of(resource)
    for name in path.split("."):
        here = (here.item or here).fields[name].type
    return here


@pytest.mark.parametrize("resource", resources.ALL, ids=lambda item: item.api_version + item.plural)
def test_every_served_resource_has_a_type(resource):
    assert {"apiVersion", "kind", "metadata"} <= set(api_types.of(resource).fields)


@pytest.mark.parametrize(
    ("resource", "path", "merges", "keys"),
    [
        (resources.PODS, "spec.containers", "map", ("name",)),
        (resources.PODS, "spec.containers.ports", "map", ("containerPort", "protocol")),
        (resources.PODS, "spec.tolerations", "atomic", ()),
        (resources.PODS, "metadata.finalizers", "set", ()),
        (resources.PODS, "spec.nodeSelector", "atomic", ()),
        (resources.PODS, "metadata.labels", "", ()),
        (resources.CLAIMS, "status.reservedFor", "map", ("uid",)),
        (resources.CLAIMS, "spec.devices.requests", "atomic", ()),
    ],
)
def test_how_values_merge(resource, path, merges, keys):
    found = _type(resource, path)

    assert (found.merges, found.keys) == (merges, keys)


@pytest.mark.parametrize(
    ("resource", "path", "kind"),
    [
        (resources.PODS, "metadata.creationTimestamp", "time"),
        (resources.LEASES, "spec.renewTime", "micro_time"),
        (resources.NODES, "status.capacity", "map"),
        (resources.SECRETS, "data", "map"),
        (resources.PODS, "spec.containers.ports.containerPort", "integer"),
        (resources.PODS, "spec.containers.livenessProbe.httpGet.port", "int_or_string"),
        (resources.PODS, "metadata.managedFields.fieldsV1", "any"),
    ],
)
def test_kinds_of_values(resource, path, kind):
    assert _type(resource, path).kind == kind


def test_strategic_merge_keys_differ_from_the_keys_of_apply():
    ports = (
        api_types.of(resources.PODS)
        .field("spec")
        .type.field("containers")
        .type.item.fields["ports"]
    )

    assert ports.patch_key == "containerPort"
    assert ports.patch_strategies == ("merge",)


def test_empty_objects_as_go_encodes_them():
    assert api_types.of(resources.CLAIMS).zero() == {
        "metadata": {},
        "spec": {"devices": {"requests": None}},
        "status": {},
    }
    assert api_types.of(resources.EVENTS).zero()["eventTime"] is None


def test_a_required_pointer_is_null_when_empty():
    spec = api_types.of_kind("apps", "v1", "Deployment").field("spec").type

    assert spec.field("selector").zero() is None


def test_zero_values_are_fresh():
    spec = api_types.of(resources.CLAIMS)
    spec.zero()["status"]["changed"] = True

    assert spec.zero()["status"] == {}


def test_an_unknown_kind_is_a_key_error():
    with pytest.raises(KeyError):
        api_types.of_kind("example.com", "v1", "Pod")


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
