"""The stand-alone parts with credentials that the API server refuses: told at once, with what to
do.
"""

import json
import pathlib
import subprocess
from typing import Any

import pytest

from harness import errors, processes
from harness.client import apis, informers
from tests.support import answering_servers

TIMEOUT_S = 120
PARTS = ["scheduler", "claim-controller", "kubelet"]
STATUS = {
    401: {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"},
    403: {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "jane may not list"},
    500: {"kind": "Status", "code": 500, "reason": "InternalError", "message": "later"},
}


class Refusing:
    """A server that answers with one code after the other, and with the last one for ever."""

    def __init__(self, *codes: int) -> None:
        self._codes, self.asked = codes, 0

    def answer(self, path: str) -> answering_servers.Answer:
        del path
        code = self._codes[min(self.asked, len(self._codes) - 1)]
        self.asked += 1
        return code, STATUS[code]


def end_of(part: str, kubeconfig: pathlib.Path) -> tuple[int, str]:
    argv = processes.command("part", part, "--kubeconfig", str(kubeconfig))
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("part", PARTS)
def test_a_wrong_token(server: Any, tmp_path: pathlib.Path, part: str) -> None:
    document = json.loads(server.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": "wrong"}
    path = tmp_path / "wrong"
    path.write_text(json.dumps(document))
    code, said = end_of(part, path)
    assert code == 2
    (line,) = said.splitlines()
    assert "got 401 Unauthorized" in line
    assert "log in again, or name another kubeconfig with --kubeconfig" in line


@pytest.mark.parametrize("part", PARTS)
def test_a_user_who_may_not(tmp_path: pathlib.Path, part: str) -> None:
    with answering_servers.serving(tmp_path / "refused", Refusing(403).answer) as kubeconfig:
        code, said = end_of(part, kubeconfig)
    assert code == 2
    (line,) = said.splitlines()
    assert "got 403 Forbidden: jane may not list" in line
    assert "name a kubeconfig whose user may list, watch and change" in line


def follow(refusing: Refusing, path: pathlib.Path, timeout_s: float) -> None:
    with (
        answering_servers.serving(path, refusing.answer) as kubeconfig,
        apis.connected(kubeconfig) as api,
    ):
        informer = informers.Informer(api, apis.LEASES, name="leases", handlers=[])
        informer.start()
        try:
            informer.wait_synced(timeout_s=timeout_s)
        finally:
            informer.stop()


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_one_refusal_is_none_yet(tmp_path: pathlib.Path) -> None:
    """After the first, an exec plugin gives something new; other failures may pass by
    themselves.
    """
    with pytest.raises(errors.ClusterError, match=r"got none \(500 InternalError: later\)"):
        follow(Refusing(401, 500), tmp_path / "refused", 0.5)
    refused = Refusing(500, 401, 403)
    with pytest.raises(errors.KubeconfigError, match="got 403 Forbidden"):
        follow(refused, tmp_path / "refused", TIMEOUT_S)
    assert refused.asked == 3
