"""Every program that can be named: its kind, name and version; and every way to be none."""

import pathlib
import stat
import struct

import pytest

from harness import errors
from harness.campaign.programs import identifying, tested_programs
from harness.run.programs import scheduler_commands
from tests.stand_ins import commands

AARCH64 = 183
MINE = "{kubeconfig} {scheduler_name}"


def written(path: pathlib.Path, content: bytes | str, *, mode: int = 0o755) -> pathlib.Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def identified(text: str, *flags: str) -> tested_programs.TestedProgram:
    return identifying.identify(text, flags, "")


@pytest.fixture
def kube(tmp_path: pathlib.Path) -> pathlib.Path:
    """A program that answers as a kube-scheduler does, and whose file has another name."""
    said = 'case "$1" in --version) echo Kubernetes v1.36.3;; *) echo "The Kubernetes scheduler is a";; esac'
    return written(tmp_path / "fork", f"#!/bin/sh\n{said}\n")


def test_a_kube_scheduler_of_any_name(kube: pathlib.Path) -> None:
    found = identified(str(kube))
    assert (found.kind, found.name, found.version) == ("kube-scheduler", "kube-scheduler", "1.36.3")
    assert found.subject == f"kube-scheduler={kube}"
    assert found.title == "kube-scheduler 1.36.3"


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("v1.37.0-alpha.1.57+a1b2c3", "1.37.0-alpha.1.57+a1b2c3"),
        ("v0.0.0-master+$Format:%H$", "1.37-unstamped"),
    ],
)
def test_a_build_from_a_checkout(tmp_path: pathlib.Path, said: str, version: str) -> None:
    """`go build` alone gives it no version; its help has the release that is compiled in."""
    script = f"""#!/bin/sh
case "$1" in
--version) echo 'Kubernetes {said}';;
*) echo 'The Kubernetes scheduler is a'; echo 'Options are: kube=1.34..1.37(default:1.37)';;
esac
"""
    assert identified(str(written(tmp_path / "built", script))).version == version


def test_a_program_that_is_not_told_a_name(tmp_path: pathlib.Path) -> None:
    found = identified(f"{written(tmp_path / 'mine', '#!/bin/sh')} {{kubeconfig}}")
    assert found.subject == f"command={tmp_path / 'mine'} '{{kubeconfig}}'"


def test_flags_are_passed_on_and_named(kube: pathlib.Path) -> None:
    found = identified(str(kube), "--feature-gates=A=true,B=false", "--v=4")
    assert found.title == "kube-scheduler 1.36.3 with --feature-gates=A=true,B=false --v=4"
    _, _, words = found.subject.partition("=")
    parsed = scheduler_commands.kube_scheduler(words)
    assert (parsed.feature_gates, parsed.flags) == ({"A": True, "B": False}, ["--v=4"])
    assert parsed.binary == str(kube)


@pytest.mark.parametrize("switch", ["A=maybe", "A", ""])
def test_a_feature_gate_that_is_none(switch: str) -> None:
    with pytest.raises(errors.UsageError, match="expected --feature-gates=NAME=true"):
        scheduler_commands.kube_scheduler(f"1.36 --feature-gates={switch}")


def test_a_path_with_a_space_needs_no_quotes(tmp_path: pathlib.Path) -> None:
    program = written(tmp_path / "my scheduler", "#!/bin/sh\n")
    assert scheduler_commands.kube_scheduler(str(program)).binary == str(program)


def test_a_stranger_has_its_own_name(tmp_path: pathlib.Path) -> None:
    program = written(tmp_path / "mine", "#!/bin/sh\necho mine 2.5.1\n")
    found = identified(f"{program} {MINE}", "--fast")
    assert (found.kind, found.title) == ("command", "mine 2.5.1 with --fast")
    assert found.subject == f"command={program} '{{kubeconfig}}' '{{scheduler_name}}' --fast"


def test_the_program_of_an_interpreter_gives_the_name() -> None:
    found = identified(f"python3 -m nowhere.scheduler {MINE}")
    assert (found.name, found.version) == ("nowhere.scheduler", "")


def test_our_own() -> None:
    found = identified("python")
    assert (found.kind, found.title, found.subject) == ("python", identifying.OURS, "python")


def test_another_program_of_kubernetes(tmp_path: pathlib.Path) -> None:
    program = written(tmp_path / "kube", "#!/bin/sh\necho Kubernetes v1.36.3\n")
    with pytest.raises(errors.UsageError, match=r"another program of Kubernetes v1\.36\.3"):
        identified(str(program))


def test_an_old_kube_scheduler(tmp_path: pathlib.Path) -> None:
    program = written(tmp_path / "kube-scheduler", "#!/bin/sh\necho Kubernetes v1.31.0\n")
    with pytest.raises(errors.UsageError, match=r"v1\.34\.0 or newer, got v1\.31\.0"):
        identified(f"kube-scheduler={program}")


ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, AARCH64) + bytes(44)


@pytest.mark.parametrize(
    "content",
    [ELF, b"MZ" + bytes(60), "apiVersion: v1\n", ""],
    ids=["arm64", "MZ", "text", "empty"],
)
def test_a_file_that_is_no_program_here(tmp_path: pathlib.Path, content: bytes | str) -> None:
    program = written(tmp_path / "given", content)
    for text in (str(program), f"{program} {MINE}"):
        with pytest.raises(errors.UsageError, match="another machine or system, or a text without"):
            identified(text)
    with pytest.raises(errors.UsageError, match="Exec format error"):
        identified(f"kube-scheduler={program}")


def test_a_folder_and_what_is_not_there_and_what_cannot_be_started(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match=r"got the folder .*: name the file in it"):
        identified(str(tmp_path))
    with pytest.raises(errors.UsageError, match="neither a file nor on PATH"):
        identified(str(tmp_path / "none"))
    program = written(tmp_path / "given", "#!/bin/sh\n", mode=stat.S_IRUSR)
    with pytest.raises(errors.UsageError, match="chmod"):
        identified(str(program))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("{scheduler_name} {port}", r"got \{port\}"),
        ("{scheduler_name", "expected braces"),
        ("'{scheduler_name}", "shell syntax"),
    ],
)
def test_words_of_a_stranger(tmp_path: pathlib.Path, words: str, told: str) -> None:
    program = written(tmp_path / "mine", "#!/bin/sh\n")
    with pytest.raises(errors.UsageError, match=told):
        identified(f"{program} {words}")


def test_flags_for_what_the_test_does_not_start() -> None:
    with pytest.raises(errors.UsageError, match="expected flags only for a program that the test"):
        identified("python", "--v=4")


def test_no_program() -> None:
    with pytest.raises(errors.UsageError, match="expected a program to test"):
        identified("")


def test_a_version_is_found_in_the_folder(tmp_path: pathlib.Path) -> None:
    for release in ("1.36.3", "1.37.0"):
        commands.install(tmp_path, "kube-scheduler", release=release)
    found = identifying.identify("1.36", (), str(tmp_path))
    assert (found.version, found.subject) == ("1.36.3", "kube-scheduler=1.36")
