"""Warnings fit into headers that clients read, as those of Kubernetes do."""

from harness.apiserver.server import http_messages


def test_few_warnings_are_whole_and_said_once() -> None:
    assert http_messages.shortened(("a" * 1000, "b", "b")) == ["a" * 1000, "b"]
