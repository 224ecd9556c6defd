"""Values in messages, as Go prints them."""

import pytest

from harness.apiserver.codec import go_values


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a", '"a"'),
        ('say "x"', r'"say \"x\""'),
        ("a\\b\n\t\x00", r'"a\\b\n\t\x00"'),
        ("é\u00a0\U0001f600", '"é\\u00a0\U0001f600"'),
        ("\u200b", r'"\u200b"'),
    ],
)
def test_quoted_strings(text: str, quoted: str) -> None:
    assert go_values.quoted(text) == quoted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        ({"A": "<&>"}, '{"A":"\\u003c\\u0026\\u003e"}'),
        ("x", '"x"'),
    ],
)
def test_values(value: object, shown: str) -> None:
    assert go_values.shown(value) == shown


def test_structs_have_all_fields_in_order_under_their_own_names() -> None:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    exactly = (
        '{"DeviceClassName":"c","Selectors":null,"AllocationMode":"","Count":0,"AdminAccess":null,'
        '"Tolerations":null,"Capacity":null}'
    )
    assert go_values.shown(go_values.struct("ResourceClaimSpec", spec)) == (
        f'{{"Devices":{{"Requests":[{{"Name":"r","Exactly":{exactly},"FirstAvailable":null}}],'
        '"Constraints":null,"Config":null}}'
    )


def test_embedded_metadata_has_no_name_of_its_own() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {}}
    printed = go_values.struct("ResourceClaimTemplateSpec", template)
    assert list(printed) == ["labels", "Spec"]


@pytest.mark.parametrize("name", go_values._STRUCTS)
def test_every_struct_can_be_printed_empty(name: str) -> None:
    assert go_values.struct(name, None) is not None
