"""Makes executables of the stand-ins."""

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
_LAUNCHER = """#!/bin/sh
exec {python} -m tests.stand_ins.{module} "$@"
"""


def install(
    folder: pathlib.Path, name: str, *, release: str = "", **environment: str
) -> pathlib.Path:
    """An executable of this name (`kube-scheduler`) that starts its stand-in.

    `release`: it is called NAME-RELEASE, and says that it is this release.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f"{name}-{release}" if release else name)
    launcher = _LAUNCHER.format(python=sys.executable, module=name.replace("-", "_"))
    if release:
        environment["STAND_IN_RELEASE"] = release
    variables = {"PYTHONPATH": str(HERE.parents[1]), **environment}
    words = " ".join(f"{key}={value}" for key, value in variables.items())
    path.write_text(launcher.replace("exec ", f"{words} exec "))
    path.chmod(0o755)
    return path
