"""The newest content of each object is compared the same before and after it became a digest."""

import json

import pytest

from harness.checks.evidence import object_lives
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


@pytest.mark.parametrize("bytes_max", [object_lives.BYTES_MAX, 0])
def test_the_newest_content_is_compared(monkeypatch: pytest.MonkeyPatch, bytes_max: int) -> None:
    monkeypatch.setattr(object_lives, "BYTES_MAX", bytes_max)
    versions = object_lives.NewestVersions()
    for uid, label in (("a", "1"), ("b", "2"), ("a", "3")):
        versions.keep(seen(uid, label), 0)
    assert [versions.equals(seen("a", label)) for label in "123"] == [False, False, True]
    assert [versions.equals(seen("b", label, kind="Lease")) for label in "12"] == [False, True]


def test_a_newer_content_takes_the_place_of_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = object_lives.NewestVersions()
    for bytes_max in (0, 2**20):
        monkeypatch.setattr(object_lives, "BYTES_MAX", bytes_max)
        versions.keep(seen("a", str(bytes_max)), 0)
    assert versions.equals(seen("a", str(2**20)))
    assert not versions.equals(seen("a", "0"))


def test_an_object_that_is_forgotten_is_not_known() -> None:
    versions = object_lives.NewestVersions()
    versions.keep(seen("a", "1"), 0)
    versions.forget("a")
    with pytest.raises(KeyError):
        versions.equals(seen("a", "1"))
