"""A pytest file that replays a run."""

from harness.explore.search import tokens

_TEMPLATE = '''"""{finding}

{story}
"""

{imports}from harness.explore.search import search_campaign, tokens

TOKEN = "{token}"


def test_no_device_is_given_to_two_claims() -> None:
    assert search_campaign.replay(tokens.parse(TOKEN)).finding is None


def test_without_the_defects_it_is_not() -> None:
    token = dataclasses.replace(tokens.parse(TOKEN), defects=())
    assert search_campaign.replay(token).finding is None
'''


def pytest_file(token: tokens.Token, finding: str, story: list[str]) -> str:
    """Return a test that fails while the run has a finding.

    If the token has defects, a second test passes if these cause the finding.
    """
    lines = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(story, start=1))
    imports = "import dataclasses\n\n" if token.defects else ""
    text = _TEMPLATE.format(finding=finding.capitalize(), story=lines, token=token, imports=imports)
    if token.defects:
        return text
    return text.partition("\n\ndef test_without_the_defects")[0] + "\n"
