"""Options of `flake-hunt kubelet` about drivers behind sockets that contradict each other."""

import pytest

from tests.support import called_commands

REGISTRY = ("--plugins-registry", "/r")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cdi-dir", "/c"), "expected --plugins-registry with --cdi-dir /c"),
        (("--wait-for-driver", "d"), "expected --plugins-registry with --wait-for-driver d"),
        (
            (*REGISTRY, "--defect", "driver-released-first"),
            "expected a defect of the kubelet with --plugins-registry, got 'driver-released-first'",
        ),
    ],
)
def test_they_are_refused(
    flake_hunt: called_commands.FlakeHunt, options: tuple[str, ...], words: str
) -> None:
    code, _, text = flake_hunt("kubelet", "--kubeconfig", "k", *options)
    assert code == 2
    assert words in text
