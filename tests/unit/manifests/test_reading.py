"""Files of objects: what is read, what is dropped, and what is refused in one sentence."""

import json
import pathlib

import pytest

from harness import errors
from harness.manifests import reading, sources
from tests.support import cases

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"


def read(folder: pathlib.Path, text: str | bytes, **options) -> list[sources.Manifest]:
    path = folder / "objects.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(reading.read([str(path)], **options))


def refused(folder: pathlib.Path, text: str | bytes, **options) -> str:
    with pytest.raises(errors.ManifestError) as caught:
        read(folder, text, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{folder}/objects.yaml")


def test_documents_and_lists_keep_their_places(tmp_path: pathlib.Path) -> None:
    listed = "apiVersion: v1\nitems:\n- " + NODE.replace("\n", "\n  ") + "\nkind: List\n"
    found = read(tmp_path, f"---\n# nothing\n---\n{NODE}---\n{listed}")
    places = [(item.source.document, item.source.item, item.source.line) for item in found]
    assert places == [(2, None, 4), (3, 1, None)]
    assert found[0].obj == found[1].obj


IN_A_LIST = json.dumps(
    {
        "kind": "List",
        "items": [{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}],
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nitems:\n- metadata: {name: a}\nkind: NodeList\n",
        '{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}',
        IN_A_LIST,
        "\ufeff" + NODE.replace("\n", "\r\n"),
        NODE.encode("utf-16"),
    ],
)
def test_every_form_is_the_same_object(text: str | bytes, tmp_path: pathlib.Path) -> None:
    (found,) = read(tmp_path, text)
    assert found.obj == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}


def test_server_fields_are_dropped(tmp_path: pathlib.Path) -> None:
    text = """{apiVersion: v1, kind: Node, spec: {x: 1}, status: {capacity: {cpu: 1}, conditions: []},
      metadata: {name: n, generateName: n-, uid: u, resourceVersion: "1", finalizers: [f],
      managedFields: [{}], ownerReferences: [{}], creationTimestamp: 2020-01-01T00:00:00Z,
      labels: {l: a}, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}}"""
    (found,) = read(tmp_path, text)
    assert found.obj["metadata"] == {"name": "n", "labels": {"l": "a"}}
    assert found.obj["status"] == {"capacity": {"cpu": 1}}


def test_older_versions_have_the_shape_of_v1(tmp_path: pathlib.Path) -> None:
    text = """apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: s}
spec: {driver: d, devices: [{name: x, basic: {attributes: {a: {int: 1}}}}]}
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {requests: [{name: r, deviceClassName: c, count: 2}]}}}
"""
    a_slice, template = read(tmp_path, text)
    assert a_slice.api_version == template.api_version == "resource.k8s.io/v1"
    assert a_slice.obj["spec"]["devices"] == [{"name": "x", "attributes": {"a": {"int": 1}}}]
    requests = template.obj["spec"]["spec"]["devices"]["requests"]
    assert requests == [{"name": "r", "exactly": {"deviceClassName": "c", "count": 2}}]


def test_values_are_those_of_kubectl(tmp_path: pathlib.Path) -> None:
    text = (
        NODE
        + "spec: {a: yes, b: 010, c: 2020-01-01, d: 1:59, e: 1.0, f: ~, h: 0o7, i: 1e3, on: '1', g: 0x1F}\n"
    )
    (found,) = read(tmp_path, text)
    wanted = {"a": True, "b": 8, "c": "2020-01-01", "d": "1:59", "e": 1}
    wanted |= {"f": None, "g": 31, "h": 7, "i": 1000}
    assert found.obj["spec"] == wanted | {"true": "1"}
    assert type(found.obj["spec"]["e"]) is int


def test_aliases_and_merged_keys(tmp_path: pathlib.Path) -> None:
    text = NODE + "spec:\n  a: &a {x: 1, y: 2}\n  b: *a\n  c: {<<: *a, y: 3}\n"
    (found,) = read(tmp_path, text)
    both = {"x": 1, "y": 2}
    assert found.obj["spec"] == {"a": both, "b": both, "c": {"x": 1, "y": 3}}


BOMB = "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 9))
BOMBS = [
    (BOMB, ", line 1: expected at most 100000 values by aliases"),
    ("[" * 2000 + "]" * 2000, ": expected YAML or JSON; maximum recursion"),
    (b"\x7fELF\x00", ": expected YAML or JSON; "),
]


@pytest.mark.parametrize(("text", "said"), [*BOMBS, *cases.read(__file__, "refused")])
def test_what_is_no_list_of_objects_is_refused(
    text: str | bytes, said: str, tmp_path: pathlib.Path
) -> None:
    assert refused(tmp_path, text).startswith(said)


def test_kinds_that_are_not_expected_are_refused_by_name(tmp_path: pathlib.Path) -> None:
    text = f"{NODE}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\n"
    said = refused(tmp_path, text, kinds=["Node"], of="pools.from")
    assert said.startswith(
        ", document 2 (line 5): Deployment web: expected one of Node in pools.from, got Deployment"
    )


def test_a_missing_file_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.ManifestError, match=r"none\.yaml: expected a readable file"):
        list(reading.read([str(tmp_path / "none.yaml")]))


JSON_NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}'


def test_json_between_marks_of_yaml_is_yaml(tmp_path: pathlib.Path) -> None:
    found = read(tmp_path, f"{JSON_NODE}\n---\n{JSON_NODE}\n")
    assert [item.source.document for item in found] == [1, 2]
