"""Requests that would cost too much are refused, or answered in a cheaper form."""

import json
from typing import Any

import pytest
import yaml

from harness.apiserver.codec import protobuf_wire
from harness.apiserver.endpoints import response_encoding
from harness.apiserver.managedfields import field_managers
from harness.apiserver.scheme import quantities
from harness.apiserver.storage import label_selectors
from harness.apiserver.validation.cel import cel_selectors
from harness.apiserver.validation.dra import device_classes, resource_claims

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize("option", ["labelSelector", "fieldSelector"])
def test_selectors_have_a_limited_number_of_terms(live: Any, option: str) -> None:
    def ask(count: int) -> tuple[int, Any]:
        term = "a" if option == "labelSelector" else "metadata.name=a"
        found: tuple[int, Any] = live.call(
            "GET", f"{CONFIGMAPS}?{option}={','.join([term] * count)}"
        )
        return found

    assert ask(label_selectors.TERMS_MAX)[0] == 200
    status, answer = ask(label_selectors.TERMS_MAX + 1)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert "at most 250 requirements" in answer["message"]


@pytest.mark.parametrize("rule", [resource_claims.claim, device_classes.device_class])
def test_expressions_are_limited_together(rule: Any) -> None:
    text = "true" + "||true" * 1000
    cels = [{"cel": {"expression": f"{n}==1||{text}"}} for n in range(5)]
    exactly = {"deviceClassName": "c", "selectors": cels, "allocationMode": "All"}
    asked = [{"name": "r", "exactly": exactly}]
    spec = (
        {"selectors": cels}
        if rule is device_classes.device_class
        else {"devices": {"requests": asked}}
    )
    [cause] = list(rule({"spec": spec}))
    assert f"at most {cel_selectors.TOTAL_CHARACTERS_MAX} are compiled" in cause.message
    del cels[1:]
    assert not list(rule({"spec": spec}))


def test_a_large_answer_in_yaml_is_in_flow_style() -> None:
    small, large = {"a": "ä"}, {"a": ["ä: '\"\\"] * response_encoding.YAML_BYTES_MAX}
    assert response_encoding.in_media("application/yaml", small) == "a: ä\n".encode()
    answer = response_encoding.in_media("application/yaml", large)
    assert json.loads(answer) == large
    assert yaml.load(answer[:60] + b'"]}', Loader=yaml.CSafeLoader)["a"][0] == large["a"][0]


def test_protobuf_bodies_have_a_limited_number_of_fields(live: Any) -> None:
    named = protobuf_wire.data(1, protobuf_wire.text(1, "v1") + protobuf_wire.text(2, "ConfigMap"))
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    in_metadata = protobuf_wire.data(1, protobuf_wire.integer(99, 1) * 60_000)
    for message in (
        protobuf_wire.integer(99, 1) * 60_000,
        in_metadata,
        (b"\x6b" + b"\x6c") * 60_000,
    ):
        body = b"k8s\0" + named + protobuf_wire.data(2, message)
        status, answer = live.call("POST", CONFIGMAPS, body, headers=headers)
        assert (status, answer["reason"]) == (413, "RequestEntityTooLarge")
    few = b"k8s\0" + named + protobuf_wire.data(2, protobuf_wire.integer(99, 1) * 1_000)
    assert live.call("POST", CONFIGMAPS, few, headers=headers)[0] == 422  # it has no name


def test_without_a_limit_messages_have_as_many_fields_as_they_like() -> None:
    assert sum(1 for _ in protobuf_wire.read(protobuf_wire.integer(1, 1) * 60_000)) == 60_000


@pytest.mark.parametrize("text", ["9" * 1_001, "9" * 1_000_000 + "Ki", "+" * 1_000_000])
def test_long_quantities_are_refused(text: str) -> None:
    with pytest.raises(quantities.QuantityError):
        quantities.parse(text)


def test_a_client_cannot_bring_thousands_of_managers(live: Any) -> None:
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
    document = {"metadata": {"name": "x"}, "kind": "ConfigMap", "apiVersion": "v1"}
    live.call("POST", CONFIGMAPS, document)
    many = [{**entry, "manager": f"m{n}"} for n in range(field_managers.CLIENTS_ENTRIES_MAX + 1)]
    document["metadata"] = {"name": "x", "managedFields": many}  # type: ignore[assignment]
    status, made = live.call("PUT", f"{CONFIGMAPS}/x", document)
    assert status == 200
    assert len(made["metadata"].get("managedFields", [])) <= 1
