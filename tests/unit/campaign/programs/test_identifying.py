"""Every program that can be named: its kind, name and version; and every way to be none."""

import pathlib
import struct
from typing import Any

import pytest

from harness import errors
from harness.campaign.programs import identifying
from harness.run.programs import scheduler_commands
from tests.stand_ins import commands
from tests.support import cases

AARCH64 = 183
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, AARCH64) + bytes(44)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("programs")
    texts = cases.read(__file__, "programs").items()
    programs = {name: text.encode() for name, text in texts}
    for name, content in (programs | {"arm64": ELF, "windows": b"MZ" + bytes(60)}).items():
        (made / name).write_bytes(content)
        (made / name).chmod(0o400 if name == "locked" else 0o755)
    return made


@pytest.mark.parametrize(
    "case",
    cases.read(__file__, "asked"),
    ids=lambda case: " ".join([case["run"], *case.get("flags", ())]),
)
def test_a_program(folder: pathlib.Path, case: dict[str, Any]) -> None:
    asked = case["run"].replace("DIR", str(folder)), case.get("flags", ()), ""
    if "says" in case:
        with pytest.raises(errors.UsageError) as caught:
            identifying.identify(*asked)
        assert case["says"].replace("DIR", str(folder)) in str(caught.value)
        return
    found = identifying.identify(*asked)
    for key, value in case["has"].items():
        assert getattr(found, key) == value.replace("DIR", str(folder))


def test_flags_are_passed_on() -> None:
    parsed = scheduler_commands.kube_scheduler("1.36 --feature-gates=A=true,B=false --v=4")
    assert (parsed.feature_gates, parsed.flags) == ({"A": True, "B": False}, ["--v=4"])


@pytest.mark.parametrize("switch", ["A=maybe", "A", ""])
def test_a_feature_gate_that_is_none(switch: str) -> None:
    with pytest.raises(errors.UsageError, match="expected --feature-gates=NAME=true"):
        scheduler_commands.kube_scheduler(f"1.36 --feature-gates={switch}")


def test_a_path_with_a_space_needs_no_quotes(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "my scheduler"
    program.touch(mode=0o755)
    assert scheduler_commands.kube_scheduler(str(program)).binary == str(program)


def test_a_version_is_found_in_the_folder(tmp_path: pathlib.Path) -> None:
    for release in ("1.36.3", "1.37.0"):
        commands.install(tmp_path, "kube-scheduler", release=release)
    found = identifying.identify("1.36", (), str(tmp_path))
    assert (found.version, found.subject) == ("1.36.3", "kube-scheduler=1.36")
