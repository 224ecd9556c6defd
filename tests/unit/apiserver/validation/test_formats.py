"""Formats of names and other short strings."""

from harness.apiserver.validation import formats

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
    (formats.label, ["", "a.b", "a" * 64]),
    (formats.subdomain, ["A", "a" * 254]),
    (formats.qualified_name, ["", "/a", "A/a", "a" * 64, "a/b/c"]),
    (formats.label_value, ["a b", "a" * 64]),
    (formats.c_identifier, ["1a"]),
    (formats.semantic_version, ["1.2", "01.2.3"]),
    (formats.uid, ["x", "x" * 36, UUID.replace("5", "A")]),
    (
        formats.interface_cidr,
        ["10.0.0.1", "10.0.0.256/24", "10.0.0.1/33", "10.0.0.01/24", "2001:DB8::1/64"],
    ),
    (formats.config_key, ["a b", "..", "..a"]),
    (formats.condition_reason, ["not a reason"]),
]


def test_what_is_fine() -> None:
    for problems, texts in GOOD:
        assert {text: list(problems(text)) for text in texts} == {key: [] for key in texts}


def test_what_is_not() -> None:
    for problems, texts in BAD:
        assert all(list(problems(text)) for text in texts), texts
