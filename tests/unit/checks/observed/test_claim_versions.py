"""Which versions of claims are compared, and who lost a claim by its removal."""

import pytest

from harness.checks.observed import claim_versions, folders
from harness.history import records
from tests.histories import language


def _versions(body: list[records.Body]) -> claim_versions.ClaimVersions:
    versions = claim_versions.ClaimVersions()
    folders.fold(body, versions)
    return versions


@pytest.mark.parametrize(
    ("order", "compared"),
    [
        ("012", [2, 3]),
        ("021", [3]),
        ("011", [2]),
        ("0g12", [3]),
        ("01gg2", [2]),
        ("0123", [2, 3, 4]),
    ],
)
def test_versions_that_follow_each_other_are_compared(order: str, compared: list[int]) -> None:
    seen = [
        it for it in language.observe("a= a+D1 a^p a~") if getattr(it, "type", "FINAL") != "FINAL"
    ]
    gap = language.gap(language.CLAIMS, 1)
    body = [gap if it == "g" else seen[int(it)] for it in order]
    pairs = _versions(body).pairs()
    assert [now.rv for before, now in pairs if before is not None] == compared


@pytest.mark.parametrize(
    ("text", "robbed"),
    [
        ("a<p a+D1 a^q a~", {"uid-p", "uid-q"}),
        ("a<p a+D1 a! a~", set()),
        ("a<p a|D1 a~", set()),
        ("a<p a+D1 a= a~", set()),
        ("a<p a+D1 b+D2 b^q", set()),
    ],
)
def test_pods_are_robbed_of_a_claim_that_goes_with_its_finalizer(
    text: str, robbed: set[str]
) -> None:
    body = language.observe(text)
    assert _versions(body).robbed == robbed
    groups = language.replaced(body, '"pods"', '"podgroups"')
    assert _versions(groups).robbed == robbed - {"uid-q"}
    plain = _versions(language.replaced(body, "pod-claim-name", "other"))
    assert plain.generated() == {}
    assert plain.is_complete
