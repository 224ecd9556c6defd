"""Boot ids of the node as a driver sees them: a reboot without one.

Drivers read /proc/sys/kernel/random/boot_id to tell a reboot from a restart of their own. Root can
bind a file over it, for the driver and its children alone (a mount namespace).
"""

import functools
import os
import pathlib
import shutil
import subprocess
import uuid
from collections.abc import Sequence

_KERNEL = "/proc/sys/kernel/random/boot_id"
_BIND = f'mount --bind "$0" {_KERNEL} && exec "$@"'
_TRIAL_S = 10.0


def renew(file: pathlib.Path) -> str:
    boot_id = str(uuid.uuid4())
    file.write_text(f"{boot_id}\n", encoding="ascii")
    return boot_id


def seen_by(words: Sequence[str], file: pathlib.Path) -> list[str]:
    """Return a command that sees the boot id of a file, or the kernel's if that is impossible."""
    return _bound(words, file) if can_be_given() else list(words)


@functools.cache
def can_be_given() -> bool:
    """True if a child of this process can get a boot id of its own."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    trial = _bound(["true"], pathlib.Path(_KERNEL))
    try:
        ended = subprocess.run(trial, capture_output=True, timeout=_TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def _bound(words: Sequence[str], file: pathlib.Path) -> list[str]:
    unshare = ["unshare", "--mount", "--propagation", "slave"]
    return [*unshare, "sh", "-c", _BIND, str(file), *words]
