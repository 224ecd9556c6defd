"""Chromium without a window, driven by its DevTools protocol."""

import asyncio
import contextlib
import pathlib
import shutil
import subprocess
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WHY_NOT = "chromium is not installed"
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")
_TIME_S = 90
_KEYS = {"Tab": 9, "Enter": 13, " ": 32}


class Tab:
    """A tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._number = socket, 0
        self.console: list[str] = []
        """What scripts and the browser have said."""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        async with asyncio.timeout(_TIME_S):
            while True:
                message = await self._socket.receive_json()
                self._note(message)
                if message.get("id") == self._number:
                    assert "error" not in message, message
                    return dict(message["result"])

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Log.entryAdded":
                self.console.append(message["params"]["entry"]["text"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.console.append(str(message["params"]))

    async def value(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        found = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        return found["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        async with asyncio.timeout(_TIME_S):
            while not (found := await self.value(expression)):
                await asyncio.sleep(0.05)
        return found

    async def open(self, address: str) -> None:
        """Open a page, and wait until it is there."""
        self.console.clear()
        await self.value("window.isOld = true")
        await self.call("Page.navigate", url=address)
        await self.until("!window.isOld && document.readyState === 'complete'")

    async def press(self, key: str) -> None:
        """Press a key and let it go."""
        text = {"text": "\r"} if key == "Enter" else {}
        about = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    async def type(self, text: str) -> None:
        """Type a text where the focus is."""
        await self.call("Input.insertText", text=text)


@contextlib.asynccontextmanager
async def tab(folder: pathlib.Path) -> AsyncIterator[Tab]:
    """Yield a tab of a browser whose files are in a folder; the browser ends afterwards."""
    assert CHROMIUM is not None
    options = (*_OPTIONS, "--remote-debugging-port=0", f"--user-data-dir={folder}")
    with subprocess.Popen(
        [CHROMIUM, *options, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            port = (await _written(folder / "DevToolsActivePort")).splitlines()[0]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                    pages = [item for item in await answer.json() if item["type"] == "page"]
                address = pages[0]["webSocketDebuggerUrl"]
                async with session.ws_connect(address, max_msg_size=0) as socket:
                    found = Tab(socket)
                    for domain in ("Page", "Runtime", "Log"):
                        await found.call(f"{domain}.enable")
                    yield found
        finally:
            process.terminate()


async def _written(path: pathlib.Path) -> str:
    async with asyncio.timeout(_TIME_S):
        while not path.exists() or not path.read_text().strip():
            await asyncio.sleep(0.05)
    return path.read_text()
