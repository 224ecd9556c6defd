"""Which versions of a claim follow each other, and when a claim may have gone."""

import msgspec
import pytest

from harness.checks.holds import hold_history
from harness.checks.observed import claim_versions
from harness.history import records
from tests.histories import language
from tests.support import cases


def _versions(body: list[records.Body]) -> claim_versions.ClaimVersions:
    found = claim_versions.ClaimVersions()
    hold_history.fold(body, found)
    return found


def test_devices_of_each_version() -> None:
    [versions] = _versions(language.observe("a= a+D1 a+D2 a=")).by_uid.values()
    held = [[item.device for item in version.results] for version in versions]
    assert held == [[], ["D1"], ["D1", "D2"], []]


@pytest.mark.parametrize(
    ("changes", "is_next"),
    [({}, True), ({"type": "DELETED"}, False), ({"rv": 2}, False), ({"epoch": 1}, False)],
)
def test_a_version_follows_one_that_the_watch_delivered_before(
    changes: dict[str, object], is_next: bool
) -> None:
    [[before, now]] = _versions(language.observe("a= a+D1")).by_uid.values()
    assert now.follows(msgspec.structs.replace(before, **changes)) is is_next
    assert not before.follows(None)


@pytest.mark.parametrize(("text", "gap", "gone"), cases.read(__file__, "gone"))
def test_a_claim_has_gone_when_it_was_deleted_or_at_the_begin_of_a_gap(
    text: str, gap: int, gone: int | None
) -> None:
    body = language.observe(text)
    if gap:
        at = next(at for at, item in enumerate(body) if getattr(item, "type", "") == "DELETED")
        body.insert(at, language.gap(language.CLAIMS, gap))
    [[made]] = _versions(body).generated().values()
    assert made.gone_rv == gone
