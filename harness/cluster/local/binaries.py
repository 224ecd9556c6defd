"""Find Kubernetes' own binaries and check their versions before anything is started."""

import functools
import os
import pathlib
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence

from harness import errors

BINARIES_VARIABLE = "KUBE_BINARIES"
"""Names a folder of binaries of one or more versions, such as `kube-scheduler-1.36.3`."""
ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"
ASSETS_FOLDER = pathlib.Path("/usr/local/kubebuilder/bin")
VERSION_TIMEOUT_S = 20.0
OLDEST = {
    "etcd": "v3.4.0",
    "kube-apiserver": "v1.34.0",
    "kube-controller-manager": "v1.34.0",
    "kube-scheduler": "v1.34.0",
}
"""Oldest supported version of each binary; resource.k8s.io/v1 came with Kubernetes 1.34."""
NEEDED = ("etcd", "kube-apiserver")
"""Binaries that every control plane needs; the others are optional."""
REMEDY = (
    "get them with `go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p path 1.36`, which prints the folder; name it in "
    f"{BINARIES_VARIABLE} or {ASSETS_VARIABLE} (kube-scheduler and kube-controller-manager: https://dl.k8s.io/v1.36.4/bin/linux/amd64/NAME)"
)
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_WHOLE_VERSION = re.compile(r"v\d+\.\d+\.\d+[\w.+-]*")
_UNSTAMPED = "v0.0.0"
"""The version of a program of Kubernetes that was built without one, by `go build` alone."""
_EMULATED = re.compile(r"kube=[\d.]+\(default:(\d+\.\d+)\)")
"""The release in its help, since 1.31: it is compiled in."""
_SOME_VERSION = re.compile(r"v?\d+(\.\d+){1,2}")


def find(name: str, folder: str = "", *, version: str = "") -> pathlib.Path:
    """Return the binary in this folder, or (empty) where envtest and the shell look.

    It is called `NAME` or `NAME-VERSION`; of several versions, the newest one. `version` (such as
    `1.36.3`, or `1.36` for the newest of them) takes only a file whose name says so. Raises
    UsageError if there is no executable one.
    """
    chosen = (os.environ.get(name) for name in (BINARIES_VARIABLE, ASSETS_VARIABLE))
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    default = filter(None, (*chosen, str(ASSETS_FOLDER), *path))
    places = [pathlib.Path(place) for place in ([folder] if folder else default)]
    wanted = _numbers(version)
    for place in places:
        if not version and (place / name).is_file():
            return _executable(place / name)
        named = [item for item in _versions_of(name, place) if item[0][: len(wanted)] == wanted]
        if named:
            return _executable(max(named)[1])
    variables = (
        f"{variable} ({os.environ.get(variable, 'not set')})"
        for variable in (BINARIES_VARIABLE, ASSETS_VARIABLE)
    )
    where = folder or f"{', '.join(variables)} and PATH"
    there = sorted(item for place in places for item in _versions_of(name, place))
    seen = ", ".join(path.name for _, path in there) or "none"
    asked = f"{name}-{version.removeprefix('v')}" if version else name
    raise errors.UsageError(f"expected the binary {asked} in {where}, but found {seen}: {REMEDY}")


def is_there(name: str, folder: str = "") -> bool:
    try:
        find(name, folder)
    except errors.UsageError:
        return False
    return True


def is_version(text: str) -> bool:
    return _SOME_VERSION.fullmatch(text) is not None


def plain_name(path: pathlib.Path) -> str:
    """Return the program that a file is: `kube-scheduler` of `kube-scheduler-1.36.3` as well."""
    name, _, version = path.name.rpartition("-")
    return name if is_version(version) else path.name


def _versions_of(name: str, place: pathlib.Path) -> list[tuple[tuple[int, ...], pathlib.Path]]:
    """Return the files `NAME-VERSION` in a folder, each after its version as numbers."""
    return [
        (_numbers(path.name.removeprefix(f"{name}-")), path)
        for path in place.glob(f"{name}-*")
        if plain_name(path) == name and path.is_file()
    ]


def program(name: str) -> pathlib.Path:
    """Return a program given by path or by its name on PATH. Raises UsageError if there is none."""
    on_path = shutil.which(name)
    if on_path is not None:
        return pathlib.Path(on_path).absolute()
    path = pathlib.Path(name)
    if path.is_file():
        return _executable(path.absolute())
    raise errors.UsageError(
        f"expected a program, but {name} is neither a file nor on PATH: correct the name or install it"
    )


def _executable(path: pathlib.Path) -> pathlib.Path:
    if not os.access(path, os.X_OK):
        raise errors.UsageError(f"expected {path} to be executable, but it is not: chmod +x {path}")
    return path.absolute()


def version(path: pathlib.Path, arguments: Sequence[str] = ("--version",)) -> str:
    """Return the first version in a binary's output, as `v1.36.4`.

    A build without a version has the release that its help names, as `v1.37.0`. Raises UsageError
    for a binary that does not run on this machine.
    """
    output = _output(path, arguments)
    match = _VERSION.search(output)
    if not match:
        raise _prints_no_version(path, output, 0)
    found = f"v{match.group(1)}.{match.group(2)}.{match.group(3)}"
    release = _EMULATED.search(_output(path, ("--help",))) if found == _UNSTAMPED else None
    return f"v{release.group(1)}.0" if release else found


def whole_version(path: pathlib.Path) -> str:
    """Return a version for people, with what makes it one build: `v1.37.0-alpha.1.9+a1b2`."""
    found = _WHOLE_VERSION.search(_output(path, ("--version",)))
    if found is None or not found[0].startswith(_UNSTAMPED):
        return found[0] if found else version(path)
    return version(path).removesuffix(".0") + "-unstamped"


def is_of_kubernetes(path: pathlib.Path) -> bool:
    """Return whether a binary says that it is a release of Kubernetes, whatever its file is called.

    Raises UsageError for a binary that does not run on this machine.
    """
    return plain_name(path) in OLDEST or _output(path, ("--version",)).startswith("Kubernetes v")


def _output(path: pathlib.Path, arguments: Sequence[str]) -> str:
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError as error:
        raise _does_not_run(path, error) from error
    return _said(path, tuple(arguments), changed_ns)


@functools.lru_cache(64)
def _said(path: pathlib.Path, arguments: tuple[str, ...], changed_ns: int) -> str:
    del changed_ns
    try:
        ended = subprocess.run(
            [str(path), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise _does_not_run(path, error) from error
    except subprocess.TimeoutExpired as error:
        raise errors.UsageError(
            f"expected {path} {' '.join(arguments)} to answer within {VERSION_TIMEOUT_S:g} s, but it did not: is it the right binary?"
        ) from error
    output = ended.stdout + ended.stderr
    if ended.returncode:
        raise _prints_no_version(path, output, ended.returncode)
    return output


def _prints_no_version(path: pathlib.Path, output: str, exit_code: int) -> errors.UsageError:
    words = output.strip().splitlines()[:1] or ["nothing"]
    return errors.UsageError(
        f"expected {path} to print its version, but it printed {words[0][:200]!r} (exit code {exit_code}): "
        "is it the right binary?"
    )


def require_new_enough(path: pathlib.Path, found: str, *, name: str = "") -> None:
    """Raise UsageError if the version is older than the oldest supported one.

    `name` is the program that it is; empty: the one of its file's name.
    """
    name = name or plain_name(path)
    if not is_at_least(found, OLDEST[name]):
        raise errors.UsageError(
            f"expected {name} {OLDEST[name]} or newer, got {found} ({path}): {REMEDY}"
        )


def is_at_least(found: str, wanted: str) -> bool:
    """Return whether one version such as `v1.36.4` is the same as or newer than another."""
    return _numbers(found) >= _numbers(wanted)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.removeprefix("v").split(".") if part)


def _does_not_run(path: pathlib.Path, error: OSError) -> errors.UsageError:
    machine = f"{platform.system().lower()}/{platform.machine()}"
    return errors.UsageError(
        f"expected a binary for this machine ({machine}), but {path} does not run here ({error.strerror}): {REMEDY}"
    )
