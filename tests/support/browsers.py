"""A page in headless Chromium, driven by its remote protocol: keys, media, pictures, console."""

import asyncio
import contextlib
import itertools
import json
import pathlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
_OPTIONS += ["--disable-background-networking", "--disable-dev-shm-usage"]
_CODES = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, "Tab": 9, "Enter": 13, " ": 32}
STARTS_S = 60.0
"""A browser on a busy machine may need this long to start."""


class Page:
    """An open page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.console: list[str] = []
        """Whatever the console was told, errors and broken policies with it."""

    async def call(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            told = json.loads(await self._socket.receive_str())
            self._note(told)
            if told.get("id") == number:
                assert "error" not in told, told
                return dict(told["result"])

    def _note(self, told: Mapping[str, Any]) -> None:
        if told.get("method") in (
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
        ):
            self.console.append(json.dumps(told["params"]))

    async def enter(self, url: str) -> None:
        for domain in ("Page", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def open(self, url: str) -> None:
        self.console.clear()
        await self.enter(url)
        while await self.value("document.readyState") != "complete" or (
            await self.value("location.href") != url
        ):
            await asyncio.sleep(0.02)

    async def value(self, script: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, script: str) -> Any:
        """Wait until an expression in the page is true, and return its value."""
        async with asyncio.timeout(STARTS_S):
            while not (found := await self.value(script)):
                await asyncio.sleep(0.02)
        return found

    async def press(self, key: str) -> None:
        named = {"key": key, "code": key, "windowsVirtualKeyCode": _CODES[key]}
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    async def media(self, kind: str = "", **features: str) -> None:
        wanted = [{"name": key.replace("_", "-"), "value": features[key]} for key in features]
        await self.call("Emulation.setEmulatedMedia", media=kind, features=wanted)


@contextlib.asynccontextmanager
async def page(profile: pathlib.Path) -> AsyncIterator[Page]:
    """Yield an empty page of a browser of its own; `profile` is its folder."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *_OPTIONS, "--remote-debugging-port=0", f"--user-data-dir={profile}"]
    process = subprocess.Popen([*command, "about:blank"], stderr=subprocess.DEVNULL)
    try:
        port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                targets = await answer.json(content_type=None)
            target = next(item for item in targets if item["type"] == "page")
            url = target["webSocketDebuggerUrl"]
            async with session.ws_connect(url, max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        process.wait()


async def _port(file: pathlib.Path) -> int:
    async with asyncio.timeout(STARTS_S):
        while not (file.is_file() and (text := file.read_text()).count("\n") >= 1):
            await asyncio.sleep(0.02)
    return int(text.splitlines()[0])
