"""The current credentials of a client, in memory: from a kubeconfig, a token file or a plugin."""

import asyncio
import pathlib

from harness import clocks, errors
from harness.client import exec_credentials, kubeconfigs

TOKEN_FILE_AGE_MAX_S = 60.0
"""Time after which a token file is read again, as client-go does."""


class CurrentCredentials:
    """The credentials that a client would send now."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        """Raises KubeconfigError if the kubeconfig is unusable."""
        self._kubeconfig = kubeconfig
        self.endpoint = kubeconfigs.load(kubeconfig)
        command = self.endpoint.plugin
        self._plugin = exec_credentials.Plugin(command) if command else None
        self._identity = self.endpoint.identity
        self._read_ns = clocks.monotonic_ns()

    async def current(self) -> exec_credentials.Credentials:
        """Return valid credentials. Raises KubeconfigError if a plugin or a file has failed."""
        if self._plugin is not None:  # it may run a program, for up to a minute
            return await asyncio.to_thread(self._plugin.current)
        if self.endpoint.token_file is not None and self._is_old():
            self._read_again()
        return self._identity

    def invalidate(self, identity: exec_credentials.Credentials) -> None:
        """Note that the API server has rejected these credentials, so that they are replaced."""
        if self._plugin is not None:
            self._plugin.invalidate(identity)
        else:
            self._read_ns = 0

    def _is_old(self) -> bool:
        return clocks.monotonic_ns() - self._read_ns > TOKEN_FILE_AGE_MAX_S * 1e9

    def _read_again(self) -> None:
        """Read the token file; one that is being replaced just now keeps the last token valid."""
        self._read_ns = clocks.monotonic_ns()
        try:
            self._identity = kubeconfigs.load(self._kubeconfig).identity
        except errors.KubeconfigError:
            return
