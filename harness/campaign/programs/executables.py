"""Looks at a file before it is started: is it a program, for this machine, and kube-scheduler?"""

import pathlib
import platform
import shutil
import struct

from harness import errors, regular_files
from harness.cluster.local import binaries
from harness.run.programs import program_versions

_ELF = b"\x7fELF"
_SCRIPT = b"#!"
_MACHINES = {
    3: "386",
    40: "arm",
    62: "amd64",
    183: "arm64",
    21: "ppc64le",
    22: "s390x",
    243: "riscv64",
}
"""Machines in the head of an ELF file -> their names, as Go and Kubernetes have them."""
_HERE = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}
_OTHER_FORMATS = {
    b"\xcf\xfa\xed\xfe": "macOS",
    b"\xca\xfe\xba\xbe": "macOS",
    b"MZ": "Windows",
}
_HEAD_BYTES = 20
_ABOUT = "Kubernetes scheduler"
"""kube-scheduler's help begins with these words, also in builds with further plug-ins."""


def require(name: str) -> pathlib.Path:
    """Return a program given by path or by its name on PATH.

    Raises UsageError, which says what it is instead, and what to do.
    """
    path = pathlib.Path(name)
    if shutil.which(name) is None and path.is_dir():
        raise errors.UsageError(
            f"expected a program, got the folder {name}: name the file in it, such as {path / 'kube-scheduler'}"
        )
    found = binaries.program(name)
    head = _head(found)
    _require_machine(found, head)
    if not head.startswith((_ELF, _SCRIPT)):
        raise errors.UsageError(
            f"expected a program, got {name}, which is neither a binary of Linux nor a script that begins with #!: "
            "name the program that runs it, as in 'python scheduler.py {kubeconfig} {scheduler_name}'"
        )
    return found


def _head(path: pathlib.Path) -> bytes:
    try:
        with regular_files.opened(path) as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise errors.UsageError(
            f"expected a program that can be read, got {path} ({error.strerror})"
        ) from error


def _require_machine(path: pathlib.Path, head: bytes) -> None:
    """Raise UsageError for a binary of another system or another machine."""
    machine = platform.machine()
    here = _HERE.get(machine, machine)
    other = next((of for start, of in _OTHER_FORMATS.items() if head.startswith(start)), "")
    if head.startswith(_ELF) and len(head) == _HEAD_BYTES:
        order = "<" if head[5] == 1 else ">"
        (number,) = struct.unpack(f"{order}H", head[18:20])
        made_for = _MACHINES.get(number, f"machine {number}")
        other = f"linux/{made_for}" if made_for != here else ""
    if other:
        raise errors.UsageError(
            f"expected a program for this machine (linux/{here}), got {path}, which is for {other}: "
            f"build it for this one (GOOS=linux GOARCH={here}), or test it there"
        )


def is_kube_scheduler(path: pathlib.Path) -> bool:
    """Return whether a program says that it is a kube-scheduler, whatever its file is called.

    Raises UsageError for another program of Kubernetes.
    """
    _, version = program_versions.said((str(path), "--version"))
    if not "".join(version[:1]).startswith("Kubernetes v"):
        return False
    _, about = program_versions.said((str(path), "--help"))
    if _ABOUT in "".join(about[:1]):
        return True
    raise errors.UsageError(
        f"expected a scheduler, got {path}, which says that it is another program of {version[0]}: "
        "name the kube-scheduler"
    )
