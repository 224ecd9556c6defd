"""Find Kubernetes' own binaries and check their versions before anything is started."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence

from harness import errors

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
    "get them with `go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p path 1.36`, which prints the folder; pass it by "
    f"--binaries or {ASSETS_VARIABLE} (kube-scheduler and kube-controller-manager: https://dl.k8s.io/v1.36.4/bin/linux/amd64/NAME)"
)
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def find(name: str, folder: str = "") -> pathlib.Path:
    """Return the binary in this folder, or (empty) where envtest and the shell look.

    Raises UsageError if there is no executable one.
    """
    places = [folder] if folder else _default_places()
    for place in places:
        path = pathlib.Path(place, name)
        if path.is_file():
            return _executable(path)
    where = folder or f"{ASSETS_VARIABLE} ({os.environ.get(ASSETS_VARIABLE, 'not set')}) and PATH"
    raise errors.UsageError(f"expected the binary {name} in {where}, but found none: {REMEDY}")


def _default_places() -> list[str]:
    assets = os.environ.get(ASSETS_VARIABLE)
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [*([assets] if assets else []), str(ASSETS_FOLDER), *(part for part in path if part)]


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

    Raises UsageError for a binary that does not run on this machine.
    """
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
    match = _VERSION.search(output)
    if ended.returncode or not match:
        words = output.strip().splitlines()[:1] or ["nothing"]
        raise errors.UsageError(
            f"expected {path} to print its version, but it printed {words[0][:200]!r} (exit code {ended.returncode}): "
            "is it the right binary?"
        )
    return f"v{match.group(1)}.{match.group(2)}.{match.group(3)}"


def require_new_enough(path: pathlib.Path, found: str) -> None:
    """Raise UsageError if the version is older than the oldest supported one."""
    oldest = OLDEST[path.name]
    if not is_at_least(found, oldest):
        raise errors.UsageError(
            f"expected {path.name} {oldest} or newer, got {found} ({path}): {REMEDY}"
        )


def is_at_least(found: str, wanted: str) -> bool:
    """Return whether one version such as `v1.36.4` is the same as or newer than another."""
    return _numbers(found) >= _numbers(wanted)


def _numbers(text: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(text)
    return tuple(int(part) for part in match.groups()) if match else (0, 0, 0)


def _does_not_run(path: pathlib.Path, error: OSError) -> errors.UsageError:
    machine = f"{platform.system().lower()}/{platform.machine()}"
    return errors.UsageError(
        f"expected a binary for this machine ({machine}), but {path} does not run here ({error.strerror}): {REMEDY}"
    )
