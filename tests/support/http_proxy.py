"""An HTTP proxy as a process of its own: CONNECT, and requests for whole URLs. It writes down the
first line of each request.

python -m tests.support.http_proxy LOG [USER:PASSWORD]

It prints its port. With a password, requests without it are answered with 407, as RFC 9110 says.
"""

import asyncio
import base64
import contextlib
import pathlib
import sys
import urllib.parse


class Proxy:
    """Passes bytes on."""

    def __init__(self, log: pathlib.Path, credentials: str) -> None:
        self._log = log
        self._wanted = f"Basic {base64.b64encode(credentials.encode()).decode()}"
        self._asks = bool(credentials)

    async def accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._serve(near, back)
        back.close()

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        head = (await near.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.splitlines()
        with self._log.open("a") as log:
            log.write(line + "\n")
        parted = (field.partition(":") for field in fields)
        headers = {name.lower(): value.strip() for name, _, value in parted}
        if self._asks and headers.get("proxy-authorization") != self._wanted:
            answer = "HTTP/1.1 407 Proxy Authentication Required\r\n"
            back.write(f"{answer}Proxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n".encode())
            return
        method, target, version = line.split(" ")
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            far, forth = await asyncio.open_connection(host.strip("[]"), int(port))
            back.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            url = urllib.parse.urlsplit(target)
            far, forth = await asyncio.open_connection(url.hostname, url.port or 80)
            path = target.removeprefix(f"{url.scheme}://{url.netloc}")
            forth.write(head.replace(line, f"{method} {path} {version}", 1).encode("latin-1"))
        await asyncio.gather(_pump(near, forth), _pump(far, back))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def main(log: str, credentials: str = "") -> None:
    proxy = Proxy(pathlib.Path(log), credentials)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
