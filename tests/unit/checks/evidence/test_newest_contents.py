"""The newest content of each object is compared the same before and after it became a digest."""

import json

import pytest

from harness.checks.evidence import newest_contents
from harness.checks.observed import observations


def seen(uid: str, label: str, *, kind: str = "") -> observations.SeenAny:
    """Return an observation of a lease with a label; with a kind, as watches deliver it."""
    meta = {"name": uid, "uid": uid, "resourceVersion": "7", "labels": {"l": label}}
    content = json.dumps({**({"kind": kind} if kind else {}), "metadata": meta})
    line = (
        '{"record":"observation","resource":"leases","type":"MODIFIED",'
        f'"resource_version":7,"ts_ns":5,"object":{content}}}'
    )
    found: observations.SeenAny = observations.decode_line(line.encode())
    return found


@pytest.mark.parametrize("bytes_max", [newest_contents.BYTES_MAX, 0])
def test_the_newest_content_is_compared(monkeypatch: pytest.MonkeyPatch, bytes_max: int) -> None:
    monkeypatch.setattr(newest_contents, "BYTES_MAX", bytes_max)
    contents = newest_contents.NewestContents()
    for uid, label in (("a", "1"), ("b", "2"), ("a", "3")):
        contents.keep(seen(uid, label))
    assert [contents.equals(seen("a", label)) for label in "123"] == [False, False, True]
    assert [contents.equals(seen("b", label, kind="Lease")) for label in "12"] == [False, True]


def test_a_newer_content_takes_the_place_of_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = newest_contents.NewestContents()
    for bytes_max in (0, 2**20):
        monkeypatch.setattr(newest_contents, "BYTES_MAX", bytes_max)
        contents.keep(seen("a", str(bytes_max)))
    assert contents.equals(seen("a", str(2**20)))
    assert not contents.equals(seen("a", "0"))


def test_an_object_that_is_forgotten_is_not_known() -> None:
    contents = newest_contents.NewestContents()
    contents.keep(seen("a", "1"))
    contents.forget("a")
    with pytest.raises(KeyError):
        contents.equals(seen("a", "1"))
