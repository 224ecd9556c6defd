"""Names of drivers, pools and attributes: which are refused, and why."""

from typing import Any

import pytest

from harness.apiserver.validation import dra_rules


def test_drivers_may_be_in_upper_case(fields: Any) -> None:
    assert not fields(dra_rules.DRIVER("GPU.example.com", "d"))
    assert fields(dra_rules.DRIVER("", "d")) == [("d", "Required")]
    assert fields(dra_rules.DRIVER("a" * 64, "d")) == [("d", "TooLong")]
    assert fields(dra_rules.DRIVER("a b", "d")) == [("d", "Invalid")]


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
    assert [reason for _, reason in fields(dra_rules.attribute_name(name, "a"))] == wrong
