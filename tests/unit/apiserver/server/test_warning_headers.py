"""Warnings fit into headers that clients read, as those of Kubernetes do."""

from harness.apiserver.server import http_framing


def test_few_warnings_are_whole_and_said_once() -> None:
    assert http_framing.shortened(("a" * 1000, "b", "b")) == ["a" * 1000, "b"]


def test_many_or_long_ones_are_cut() -> None:
    assert http_framing.shortened(("a" * 1_000_000, "b")) == ["a" * 256, "b"]
    many = http_framing.shortened([f"{n}:{'x' * 300}" for n in range(100)])
    assert len(many) == 16
    assert sum(map(len, many)) == 4096
