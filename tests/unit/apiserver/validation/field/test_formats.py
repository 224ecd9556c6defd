"""Formats of names and other short strings."""

from collections.abc import Iterable

import pytest

from harness.apiserver.validation.field import formats

UUID = "11111111-2222-4333-8444-555555555555"
GOOD = [
    (formats.label, ["a", "a-1", "a" * 63]),
    (formats.subdomain, ["a", "a.b-c", "a" * 253]),
    (formats.qualified_name, ["a", "A_b.c", "example.com/a", "a" * 63]),
    (formats.label_value, ["", "a", "A.b_c-1"]),
    (formats.c_identifier, ["a", "_A1"]),
    (formats.semantic_version, ["1.2.3", "1.2.3-rc.1+build.5"]),
    (formats.uid, [UUID]),
    (formats.interface_cidr, ["10.0.0.1/24", "2001:db8::1/64"]),
    (formats.config_key, ["a.b", "...a"[3:], "A_-"]),
    (formats.condition_reason, ["Fine", "A:b_"]),
]
BAD = [
    (formats.label, "", "a lowercase RFC 1123 label must consist of"),
    (formats.label, "a.b", "must not contain dots"),
    (formats.label, "a" * 64, "must be no more than 63 characters"),
    (formats.subdomain, "A", "a lowercase RFC 1123 subdomain must consist of"),
    (formats.subdomain, "a" * 254, "must be no more than 253 characters"),
    (formats.qualified_name, "", "name part must be non-empty"),
    (formats.qualified_name, "/a", "prefix part must be non-empty"),
    (formats.qualified_name, "A/a", "prefix part a lowercase RFC 1123 subdomain"),
    (formats.qualified_name, "a" * 64, "name part must be no more than 63 bytes"),
    (formats.qualified_name, "a/b/c", "with an optional DNS subdomain prefix and '/'"),
    (formats.label_value, "a b", "a valid label must be an empty string or consist of"),
    (formats.label_value, "a" * 64, "must be no more than 63 bytes"),
    (formats.c_identifier, "1a", "a valid C identifier must start with"),
    (formats.semantic_version, "1.2", "semver.org spec 2.0.0"),
    (formats.semantic_version, "01.2.3", "semver.org spec 2.0.0"),
    (formats.uid, "x", "error validating uid: invalid UUID length: 1"),
    (formats.uid, "x" * 36, "error validating uid: invalid UUID format"),
    (formats.uid, UUID.replace("5", "A"), "must be in RFC 4122 normalized form"),
    (formats.interface_cidr, "10.0.0.1", "must be a valid address in CIDR form"),
    (formats.interface_cidr, "10.0.0.256/24", "must be a valid address in CIDR form"),
    (formats.interface_cidr, "10.0.0.1/33", "must be a valid address in CIDR form"),
    (formats.interface_cidr, "10.0.0.01/24", 'must be in canonical form ("10.0.0.1/24")'),
    (formats.interface_cidr, "2001:DB8::1/64", 'must be in canonical form ("2001:db8::1/64")'),
    (formats.config_key, "a b", "a valid config key must consist of"),
    (formats.config_key, "..", "must not be '..'"),
    (formats.config_key, "..a", "must not start with '..'"),
    (formats.condition_reason, "not a reason", "a condition reason must start with"),
]


@pytest.mark.parametrize(
    ("problems", "texts"), GOOD, ids=lambda value: getattr(value, "__name__", None)
)
def test_what_is_fine(problems: formats.Problems, texts: Iterable[str]) -> None:
    assert {text: list(problems(text)) for text in texts} == {key: [] for key in texts}


@pytest.mark.parametrize(("problems", "text", "why"), BAD)
def test_what_is_not(problems: formats.Problems, text: str, why: str) -> None:
    found = list(problems(text))
    assert any(why in problem for problem in found), found


def test_rules_are_worded_as_the_server_words_them() -> None:
    assert formats.qualified_name("a b") == (
        (
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
            "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
            "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        ),
    )
