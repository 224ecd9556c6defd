"""Names of drivers, pools and attributes: which are refused, and why."""

from typing import Any

import pytest

from harness.apiserver.validation.dra import dra_names


def test_drivers_may_be_in_upper_case(fields: Any) -> None:
    assert not dra_names.driver_causes("d", "GPU.example.com")
    assert fields(dra_names.driver_causes("d", "")) == [("d", "Required")]
    assert fields(dra_names.driver_causes("d", "a" * 64)) == [("d", "TooLong")]
    assert fields(dra_names.driver_causes("d", "a b")) == [("d", "Invalid")]


def test_pools_have_parts(lines: Any) -> None:
    assert not dra_names.pool_causes("p", "a/b.c/d")
    (line,) = lines(dra_names.pool_causes("p", "a/B"))
    assert line.startswith('p: Invalid value: "B": a lowercase RFC 1123 subdomain')


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("model", []),
        ("example.com/model", []),
        ("a/b/c", []),  # a gap in the server's own rules
        ("", ["Invalid"]),
        ("/model", ["Invalid"]),
        ("example.com/", ["Invalid"]),
        ("a-b", ["Invalid"]),
        ("a" * 33, ["TooLong"]),
        ("d" * 64 + "/model", ["TooLong"]),
    ],
)
def test_names_of_attributes(fields: Any, name: str, wrong: list[str]) -> None:
    assert [reason for _, reason in fields(dra_names.attribute_causes("a", name))] == wrong


def test_constraints_name_attributes_with_their_domain(lines: Any) -> None:
    assert lines(dra_names.full_attribute_causes("a", "numa")) == [
        'a: Invalid value: "numa": a fully qualified name must be a domain and a name separated by a slash'
    ]
