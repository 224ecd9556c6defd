"""Redaction: nothing that tells whose cluster it is stays, and what refers to it follows."""

import copy
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from harness.importing import imports, materials, redaction, workload_sets
from harness.report.redaction import values
from harness.subject.cel import selectors
from tests.support import cases

UUID = "GPU-5d0e6a1c-0000-4c11-9d58-0f8e2b7a3100"
OBJECTS = cases.read(__file__, "objects")
EVERYTHING = pathlib.Path(__file__).with_name("everything.yaml").read_text()
"""Each text in it begins with `hush` or `kept`, but for words of the API."""


def device(name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "attributes": attributes}


@pytest.fixture
def found() -> materials.Materials:
    found = materials.Materials()
    found.add(copy.deepcopy(OBJECTS))
    found.complete()
    return found


def redacted(found: materials.Materials) -> tuple[materials.Materials, list[Any]]:
    made, sets = redaction.redacted(found, workload_sets.divide(found))
    return made, [obj for one in sets for obj in one.objects]


def test_what_devices_are_chosen_by_stays(found: materials.Materials) -> None:
    found, _ = redacted(found)
    first, second = found.slices[0]["spec"]["devices"]
    assert first["attributes"]["model"] == {"string": "M1"}
    assert first["attributes"]["driverVersion"] == {"version": "1.2.3"}
    assert {*second["attributes"]} == {"nic.example/ifName", "roots"}
    assert found.slices[0]["spec"]["driver"] == "gpu.maker.example"


def test_references_follow(found: materials.Materials) -> None:
    found, made = redacted(found)
    name = found.nodes[0]["metadata"]["name"]
    local, network = (obj["spec"] for obj in found.slices)
    assert local["nodeName"] == local["pool"]["name"] == name
    labels = found.nodes[0]["metadata"]["labels"]
    [term] = network["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == [labels["rack"]]
    template, deployment = made
    pod = deployment["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"rack": labels["rack"]}
    assert pod["resourceClaims"][0]["resourceClaimTemplateName"] == template["metadata"]["name"]
    [request] = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == found.classes[0]["metadata"]["name"]
    assert (
        deployment["spec"]["selector"]["matchLabels"].items()
        <= deployment["spec"]["template"]["metadata"]["labels"].items()
    )


def test_parameters_keep_their_keys_and_lose_their_values() -> None:
    [config] = OBJECTS[3]["spec"]["config"]
    assert values.without_values(config["opaque"]["parameters"]) == {
        "apiVersion": "maker.example/v1",
        "kind": "Config",
        "token": "redacted",
        "sharing": {
            "interval": "redacted",
            "replicas": 0,
            "on": False,
            "list": ["redacted", {"a": "redacted"}],
        },
    }


# ------------------------------------------------------------------------- selectors

TEXTS = ["0000:00:02.0", "0000:01:00.0", "10.0.0.7", UUID, "a.corp.example", "hush-host", "M1"]
PARTS = [*TEXTS, "0000:00:", "^0000:0[01]", ".0", "GPU-", "corp", ""]
NAMES = ["uuid", "pciAddress", "model", "nic.example/busID"]
QUOTES = st.sampled_from(["'{}'", '"{}"', "r'{}'", "('{}' + '')", "'\\x27 // {}'"])


def read(name: str) -> str:
    domain, _, key = name.rpartition("/")
    return f"device.attributes['{domain or 'gpu.maker.example'}'].{key}"


LITERALS = st.builds(lambda form, text: form.format(text), QUOTES, st.sampled_from(PARTS))
VALUES = st.sampled_from(NAMES).map(read)
LEAVES = st.one_of(
    st.builds("{}.{}({})".format, VALUES, st.sampled_from(["startsWith", "endsWith", "contains", "matches"]), LITERALS),
    st.builds("{} {} {}".format, VALUES, st.sampled_from(["==", "!=", "<", ">", ">="]), LITERALS),
    st.builds("{} in [{}, {}]".format, VALUES, LITERALS, LITERALS),
    st.builds("[{}, {}].exists(a, {}.endsWith(a))".format, LITERALS, LITERALS, VALUES),
    st.builds("size({}) == {}".format, VALUES, st.integers(0, 40)),
    st.builds("{} == {}".format, VALUES, VALUES),
    st.builds("{} == {} // {}\n".format, VALUES, LITERALS, st.sampled_from(TEXTS)),
    st.builds("device.attributes['gpu.maker.example'].exists(k, k == {})".format, LITERALS),
    st.builds("has({})".format, VALUES),
    st.builds("device.driver == {}".format, LITERALS),
)  # fmt: skip
SELECTORS = st.recursive(
    LEAVES, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner), max_leaves=3
)  # fmt: skip
DEVICES = st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from(TEXTS).map(lambda text: {"string": text})
)


def answers(found: materials.Materials) -> list[list[bool | None]]:
    """Return what each class's selectors say of each device."""
    return [
        [answer(item["cel"]["expression"], device) for device in found.slices[0]["spec"]["devices"]]
        for obj in found.classes
        for item in obj["spec"]["selectors"]
    ]


def answer(text: str, device: dict[str, Any]) -> bool | None:
    try:
        return selectors.compiled(text).matches("gpu.maker.example", device)
    except selectors.SelectorError:
        return None


@hypothesis.settings(max_examples=150, deadline=None, database=None, derandomize=True)
@hypothesis.given(
    selectors=st.lists(SELECTORS, min_size=1, max_size=4),
    attributes=st.lists(DEVICES, min_size=1, max_size=4),
)
def test_every_selector_answers_as_before_on_every_device(
    selectors: list[str], attributes: list[dict[str, Any]]
) -> None:
    found = materials.Materials()
    found.add(copy.deepcopy(OBJECTS[:2]))
    found.slices[0]["spec"]["devices"] = [
        device(f"d-{number}", **each) for number, each in enumerate(attributes)
    ]
    spec = {"selectors": [{"cel": {"expression": text}} for text in selectors]}
    kinds = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    found.classes = [{**kinds, "metadata": {"name": "c"}, "spec": spec}]
    found.complete()
    made, _ = redaction.redacted(found, workload_sets.divide(found))
    assert answers(made) == answers(found)


@pytest.mark.parametrize(
    "expression",
    cases.read(__file__, "told"),
)
def test_a_text_that_decides_by_its_form_stays_and_is_told(
    found: materials.Materials, expression: str
) -> None:
    spec = found.templates[0]["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    spec["selectors"] = [{"cel": {"expression": expression}}]
    made, _ = redacted(found)
    attributes = made.slices[0]["spec"]["devices"][1]["attributes"]
    assert attributes["nic.example/ifName"] == {"string": "eth-hush"}
    assert any("nic.example/ifName" in line for line in found.notes.lines)


# -------------------------------------------------------------------------- every text


def texts(value: Any) -> Iterator[str]:
    """Yield the keys and texts of a document."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            yield from texts(item)


def test_of_all_texts_of_the_input_only_the_named_ones_are_left(tmp_path: pathlib.Path) -> None:
    (tmp_path / "input.yaml").write_text(EVERYTHING)
    imports.write(imports.from_files([tmp_path / "input.yaml"]), tmp_path / "made", redacted=True)
    output = "".join(path.read_text() for path in sorted((tmp_path / "made").iterdir()))
    words = {
        word
        for text in texts(list(yaml.safe_load_all(EVERYTHING)))
        for word in re.findall(r"[\w-]+", text)
    }
    found = {word for word in words if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", output)}
    own = {word for word in found if word.startswith(("hush", "HUSH", "2031", "corp"))}
    assert own == set()
    assert {word for word in found if word.startswith("kept")} == {
        *("kept", "kept-driver", "kept-model", "kept-request", "keptKey", "keptModel")
    }
