"""Formats of object names."""

import re

import hypothesis
from hypothesis import strategies

from harness.apiserver.scheme import object_names

QUOTED_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
QUOTED_SUBDOMAIN = rf"{QUOTED_LABEL}(\.{QUOTED_LABEL})*"
"""As the messages quote them."""


@hypothesis.given(strategies.text("a1-.A\n", max_size=12))
def test_the_patterns_agree_with_those_in_the_messages(name: str) -> None:
    assert (not object_names.subdomain_problems(name)) == bool(re.fullmatch(QUOTED_SUBDOMAIN, name))
    assert (not object_names.label_problems(name)) == bool(re.fullmatch(QUOTED_LABEL, name))
