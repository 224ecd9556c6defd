"""YAML bodies: what they may cost is decided before anything is constructed."""

import subprocess
import sys
from typing import Any

import pytest
import yaml

from harness.apiserver.serializer import yaml_bodies

VALUES_MAX = yaml_bodies.VALUES_MAX
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
BOMB = b"a0: &a0 x\n" + b"".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n".encode() for n in range(1, 12)
)
MERGES = b"a: &a {" + b", ".join(b"k%d: 1" % n for n in range(500)) + b"}\nb:\n  <<: [" + b", ".join([b"*a"] * 100) + b"]\n"  # fmt: skip


@pytest.fixture
def constructs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_args: Any, **_named: Any) -> None:
        raise AssertionError("something was constructed")

    monkeypatch.setattr(yaml, "load", load)


@pytest.mark.parametrize(
    ("body", "code", "why"),
    [
        (b"a: 1\n" * VALUES_MAX, 413, "at most 10000 keys and values; send it as JSON"),
        (b"#" * (yaml_bodies.BODY_BYTES_MAX + 1), 413, "limit is 1048576"),
        (b"---\n" * (VALUES_MAX + 1), 413, "at most 10000 keys and values"),
        (b"[" * 20_000, 400, "exceeded max depth"),
        (b"- " * 20_000, 400, "exceeded max depth"),
        (b"? " * 20_000, 400, "exceeded max depth"),
        (BOMB, 400, "excessive aliasing"),
        (MERGES, 400, "excessive aliasing"),
        (b"a: &a [*a]", 400, "anchor 'a' value contains itself"),
        (b"".join(b"%%TAG !a%d! b\n" % n for n in range(101)) + b"---\na: 1", 400, "directives"),
    ],
)
@pytest.mark.usefixtures("constructs_nothing")
def test_what_costs_too_much_is_refused_unconstructed(
    refuses: Any, body: bytes, code: int, why: str
) -> None:
    with refuses(code, None, why):
        yaml_bodies.read(body)


@pytest.mark.parametrize("tag", ["", "!!int ", "!!float "])
def test_long_numbers_are_refused(refuses: Any, tag: str) -> None:
    body = f"a: {tag}{'1:' * 100_000}1".encode()
    with refuses(400, "BadRequest", "a number has more than 40 characters"):
        yaml_bodies.read(body)


def test_an_error_of_a_megabyte_is_cut(refuses: Any) -> None:
    with refuses(400, "BadRequest", "could not determine a constructor") as caught:
        yaml_bodies.read(b"a: !<" + b"x" * 1_000_000 + b"> 1")
    assert len(caught.value.message) < 1000


def test_the_largest_body_is_read() -> None:
    lines = [f"k{n}: {n}\n".encode() for n in range(VALUES_MAX // 2 - 1)]
    assert yaml_bodies.read(b"".join(lines))["k4000"] == 4000
    depth = yaml_bodies.DEPTH_MAX
    assert yaml_bodies.read(b"[" * depth + b"]" * depth)


def test_aliases_and_merges_are_copies() -> None:
    found = yaml_bodies.read(b"a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n1: true\nt: 2026-01-01")
    assert found == {
        "a": {"x": 1},
        "b": {"x": 1},
        "c": {"x": 1, "y": 2},
        "1": True,
        "t": "2026-01-01",
    }
    assert found["a"] is not found["b"]


def test_without_the_c_library_it_reads_the_same() -> None:
    program = """
import yaml
for name in ("CSafeLoader", "CLoader"):
    delattr(yaml, name)
from harness.apiserver.errors import status_errors
from harness.apiserver.serializer import yaml_bodies
assert yaml_bodies._Loader.__mro__[1] is yaml.SafeLoader
assert yaml_bodies.read(b"a: &a {x: 1}\\nb: *a") == {"a": {"x": 1}, "b": {"x": 1}}
for body, code in ((b"[" * 20_000, 400), (b"a: 1\\n" * 10_000, 413)):
    try:
        yaml_bodies.read(body)
    except status_errors.StatusError as error:
        assert error.code == code, error.message
    else:
        raise AssertionError(body[:10])
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
