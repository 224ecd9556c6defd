"""Options of `flake-hunt part kubelet` about drivers behind sockets that contradict each other."""

import pytest

from tests.support import called_commands

REGISTRY = ("--plugins-registry", "/r")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--set", "cdi_dir=/c"), "expected --plugins-registry with cdi_dir and wait_for_driver"),
        (("--set", "seed=x"), "--set seed=x: Expected `int`"),
        (("--set", "sed=1"), "expected --set KEY=VALUE, got 'sed=1'. Did you mean 'seed'"),
        (
            (*REGISTRY, "--defect", "driver-released-first"),
            "expected a defect of the kubelet with --plugins-registry, got 'driver-released-first'",
        ),
    ],
)
def test_they_are_refused(
    flake_hunt: called_commands.FlakeHunt, options: tuple[str, ...], words: str
) -> None:
    code, _, text = flake_hunt("part", "kubelet", "--kubeconfig", "k", *options)
    assert code == 2
    assert words in text
