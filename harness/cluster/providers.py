"""Which kinds of clusters there are, and what each of them must be able to do."""

import pathlib
from collections.abc import Callable
from typing import Protocol

from harness import errors
from harness.cluster import embedded


class Cluster(Protocol):
    """A cluster that runs."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def kubeconfig(self) -> pathlib.Path:
        """What the harness's processes connect with."""

    @property
    def user_kubeconfig(self) -> pathlib.Path:
        """What kubectl connects with."""

    def is_alive(self) -> bool:
        """Whether it still answers."""

    def down(self) -> None:
        """Remove it and everything that it left."""


_PROVIDERS: dict[str, Callable[[str, pathlib.Path], Cluster]] = {"embedded": embedded.up}


def names() -> list[str]:
    """The providers, for messages and options."""
    return sorted(_PROVIDERS)


def check(provider: str) -> None:
    """UsageError for a provider that there is none of."""
    if provider not in _PROVIDERS:
        raise errors.UsageError(
            f"expected a cluster provider, got {provider!r}. Known: {', '.join(names())}"
        )


def up(provider: str, *, name: str, directory: pathlib.Path) -> Cluster:
    """Start a cluster whose files are in this folder."""
    check(provider)
    directory.mkdir(parents=True, exist_ok=True)
    return _PROVIDERS[provider](name, directory)
