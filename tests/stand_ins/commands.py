"""Makes executables of the stand-ins."""

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
_LAUNCHER = """#!/bin/sh
exec {python} -m tests.stand_ins.{module} "$@"
"""


def install(folder: pathlib.Path, name: str) -> pathlib.Path:
    """An executable of this name (`kube-scheduler`) that starts its stand-in."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    launcher = _LAUNCHER.format(python=sys.executable, module=name.replace("-", "_"))
    path.write_text(launcher.replace("exec ", f"PYTHONPATH={HERE.parents[1]} exec "))
    path.chmod(0o755)
    return path
