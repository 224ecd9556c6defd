"""One pass over the records gives each folder what it wants to see, decoded once."""

import functools
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from harness.checks.observed import folders, observations
from harness.history import journal_reader, records
from tests.histories import language

META = {"name": "x", "uid": "uid-x", "resourceVersion": "7", "namespace": "n"}
SLICE = {"driver": "d", "pool": {"name": "p"}}
RESOURCES = [*observations.TYPES, "leases"]


class Everything(folders.Folder):
    """Notes in which order it sees what."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def see_any(self, seen: observations.SeenAny) -> None:
        self.seen.append(seen.resource)

    def see_new_claim(self, seen: observations.SeenClaim) -> None:
        self.seen.append(f"new {seen.type}")

    def see_final(self, seen: observations.SeenAny) -> None:
        self.seen.append(f"final {seen.resource}")

    def see_gap(self, gap: records.Gap) -> None:
        self.seen.append(f"gap {gap.after_resource_version}")

    def end(self, ts_ns: int) -> None:
        self.seen.append(f"end {ts_ns}")


def observed(
    resource: str, kind: Any = "MODIFIED", **fields: dict[str, Any]
) -> records.Observation:
    return records.Observation(
        resource=resource,
        type=kind,
        resource_version=7,
        ts_ns=3,
        object=msgspec.Raw(json.dumps({"metadata": META, **fields}).encode()),
    )


@pytest.mark.parametrize("form", [list, iter])
def test_observations_at_once_are_seen_in_the_order_of_the_records(form: Any) -> None:
    gap = language.gap("pods", 5, 1)
    pods, everything = [observed("pods")] * 3, Everything()
    claims = [observed("resourceclaims", kind) for kind in ("MODIFIED", "ADDED", "LISTED")]
    last = msgspec.structs.replace(observed("pods", "FINAL"), ts_ns=4)
    final = [observed("pods", "FINAL"), last]
    folders.fold(form([*pods, gap, observed("leases"), *pods, *claims, *final]), everything)
    three, new = ["pods"] * 3, ["new ADDED", "new LISTED"]
    seen = [it for it in everything.seen if it != "resourceclaims"]
    assert seen == [*three, "gap 5", "leases", *three, *new, *["final pods"] * 2, "end 4"]


@pytest.mark.parametrize("broken", [b"[]", b"{}", b'{"metadata": {"name": "x"}}', b"\xff"])
def test_what_is_no_object_is_an_error(broken: bytes) -> None:
    record = msgspec.structs.replace(observed("leases"), object=msgspec.Raw(broken))
    with pytest.raises(observations.ObjectError):
        folders.fold([record], Everything())


def line(object_json: str, *, resource: str = "resourceclaims", more: str = "") -> bytes:
    """A line of the recorder's journal."""
    begin = f'{{"record":"observation","resource":"{resource}","type":"ADDED"'
    return f'{begin},"resource_version":7,"ts_ns":5{more},"object":{object_json}}}\n'.encode()


ALLOCATION = {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"spec": SLICE | {"devices": []}},
        {"spec": SLICE | {"devices": {}}, "status": None},
        {"spec": SLICE | {"devices": {}}, "status": {"allocation": None}},
        {"spec": SLICE | {"devices": {"requests": [{"name": "r"}]}}},
        {"spec": SLICE, "status": {"allocation": ALLOCATION}},
        {"spec": SLICE, "status": {"allocation": {"devices": [1]}}},
    ],
)
def test_a_line_is_decoded_like_its_record(fields: dict[str, Any]) -> None:
    text = json.dumps({"kind": "K", "metadata": META, **fields})

    def outcome(decode: Callable[[], Any]) -> Any:
        try:
            return decode()
        except observations.ObjectError as error:
            return str(error)

    for content in (line(text, resource=resource) for resource in RESOURCES):
        record = journal_reader.decode_record(content)
        fast = outcome(functools.partial(observations.decode_line, content))
        assert fast == outcome(functools.partial(observations.decode, record))


@pytest.mark.parametrize(
    "unusual",
    [
        line(json.dumps({"metadata": META})).replace(b'"object":', b'"object" :'),
        line(json.dumps({"metadata": META}), more=',"resource":"pods"'),
        b" " + line(json.dumps({"metadata": META})),
        line(json.dumps({"metadata": META}), resource="p\\u006fds"),
    ],
)
def test_a_line_of_another_form_is_decoded_as_its_record(unusual: bytes) -> None:
    seen = observations.decode_line(unusual)
    usual = observations.decode(journal_reader.decode_record(unusual))
    assert msgspec.structs.replace(seen, line=usual.line) == usual
    assert seen.content == usual.content


def test_parts_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "BYTES_MAX", 10)
    parts, kept = observations.DecodedParts(bytes.decode), []
    for content in (b"aaaa", b"bbbb", b"aaaa", b"cccc", b"dddd", b"eeee"):
        assert parts[content] == content.decode()
        kept.append(len(parts))
    assert kept == [1, 2, 2, 1, 2, 1]
