"""Secrets and paths do not leave the machine; what an issue needs stays."""

import pytest

from harness.report.redaction import texts
from harness.reproduction import markdown
from tests.support import cases

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
BASE64 = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t" * 3


@pytest.mark.parametrize(("text", "secret"), cases.read(__file__, "secrets"))
def test_secrets(text: str, secret: str) -> None:
    for name, value in {"JWT": JWT, "BASE64": BASE64}.items():
        text, secret = text.replace(name, value), secret.replace(name, value)
    assert secret in text
    assert secret not in texts.clean(text)


@pytest.mark.parametrize(("text", "cleaned"), cases.read(__file__, "paths"))
def test_paths(text: str, cleaned: str) -> None:
    assert texts.clean(text) == cleaned


@pytest.mark.parametrize("text", cases.read(__file__, "needed"))
def test_what_an_issue_needs_stays(text: str) -> None:
    assert texts.clean(text) == text


# ------------------------------------------------------------------ Markdown


@pytest.mark.parametrize(("given", "written"), cases.read(__file__, "markdown"))
def test_text_stays_text(given: str, written: str) -> None:
    assert markdown.text(given) == written


def test_nothing_ends_a_code_block() -> None:
    assert markdown.block(["```", "````x"]) == "`````\n```\n````x\n`````"
    assert markdown.code("a`b") == "``a`b``"


def test_secrets_are_removed_before_anything_is_escaped() -> None:
    assert markdown.text("see /home/my_dir/file") == "see …/file"
    assert JWT not in markdown.block([JWT])
    assert JWT not in markdown.code(JWT)
