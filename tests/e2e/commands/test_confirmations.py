"""Real plays of scripts on the embedded API server, with the Python scheduler."""

import json
import pathlib

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e
REMEDY = ("--remedy", "keep-in-flight-until-known")
SCRIPT = """
schema_version = 1
name = "mine"
title = "a script of a user"
pools = {{ nodes = 1, devices_per_node = 1 }}

[traffic]
profile = "script"
deadline_s = 2.0
expects = ["{expects}"]
objects = [
  {{ kind = "ResourceClaim", name = "claim-1" }},
  {{ kind = "Pod", name = "pod-1", claims = [{claims}] }},
]
steps = [
  {{ do = "create", object = "claim-1" }},
  {{ do = "create", object = "pod-1" }},
  {{ do = "await", object = "pod-1", state = "bound" }},
  {more}
]
"""
NEVER = '{ do = "request", client = "scheduler", of = "pods/pod-2/binding" },'


def test_a_script_is_copied_confirmed_and_refuted_with_the_remedy(tmp_path: pathlib.Path) -> None:
    code, text = running.called(tmp_path, "confirm", "H1", "--write", "h1.toml")
    assert (code, text.strip()) == (0, "Written: h1.toml")
    code, text = running.called(tmp_path, "confirm", "./h1.toml")
    assert code == 10, text
    assert "confirmed (the correct subject): " in text
    code, text = running.called(tmp_path, "confirm", "./h1.toml", *REMEDY)
    assert code == 0, text
    assert "refuted (python + keep-in-flight-until-known)" in text
    code, text = running.called(tmp_path, "confirm", "H1", "--write", "h1.toml")
    assert code == 2, text
    assert "expected a new file for --write, got h1.toml" in " ".join(text.split())


def test_a_step_that_never_comes_is_told(tmp_path: pathlib.Path) -> None:
    text = SCRIPT.format(expects="device_exclusivity", claims='"claim-1"', more=NEVER)
    (tmp_path / "never.toml").write_text(text)
    with running.started(tmp_path, "confirm", "./never.toml", "--output", "json") as command:
        code = command.wait()
        command.require_alone()
        text = command.text()
    assert code == 20, text
    document = json.loads(text[text.index('{\n  "schema"') :])
    (play,) = document["plays"]
    assert play["answer"] == "not followed"
    assert play["late_step"] == 4
    assert "create pods/pod-1/binding by scheduler (201)" in play["last_calls"]


def test_what_examined_nothing_is_neither_refuted_nor_without_double_allocations(
    tmp_path: pathlib.Path,
) -> None:
    """The program did all that was asked, which is nothing of what the script expects."""
    text = SCRIPT.format(expects="claims_in_use", claims="", more="")
    (tmp_path / "unused.toml").write_text(text)
    code, text = running.called(tmp_path, "confirm", "./unused.toml")
    assert code == 20, text
    assert "unknown (the correct subject): claims_in_use: no reservations" in text
    code, text = running.called(tmp_path, "hunt", "./unused.toml", "--repeat", "1")
    assert code == 20, text
    assert "no double allocation" not in text


def test_a_scheduler_that_dies_confirms_nothing(tmp_path: pathlib.Path) -> None:
    code, text = running.called(
        tmp_path, "confirm", "H1", "--subject", "command=false {kubeconfig}"
    )
    assert code in (2, 20), text
    assert "confirmed" not in text
