"""Bytes that wait for a transport: in order, complete, and not copied before there is room."""

from typing import Any

from harness.apiserver.server import send_queue


class Transport:
    """Takes `room` bytes, then reports that it is full."""

    def __init__(self, out: send_queue.SendQueue, room: int) -> None:
        self.out, self.room, self.data = out, room, b""

    def write(self, data: bytes) -> None:
        self.data += data
        self.out.is_full = self.get_write_buffer_size() > self.room

    def get_write_buffer_size(self) -> int:
        return len(self.data)


def opened(room: int) -> tuple[send_queue.SendQueue, Transport]:
    out = send_queue.SendQueue()
    transport = Transport(out, room)
    made: Any = transport
    out.open(made)
    return out, transport


def test_a_full_transport_gets_nothing_more() -> None:
    out, transport = opened(10)
    out.send([b"a" * 6, b"b" * 6])
    out.send([b"c" * 6])
    out.send([b"d"])
    assert (transport.data, out.is_waiting) == (b"a" * 6 + b"b" * 6, True)
    assert out.unread_bytes == 19


def test_what_waited_comes_in_order_as_there_is_room() -> None:
    out, transport = opened(100_000)
    parts = [bytes([n]) * 40_000 for n in range(12)]
    for part in parts:
        out.send([part])
    received = b""
    for _ in range(20):
        received, transport.data = received + transport.data, b""
        out.is_full = False
        out.go_on()
        assert len(transport.data) < 200_000
    assert received == b"".join(parts)
    assert (out.is_waiting, out.unread_bytes) == (False, 0)


def test_nothing_is_kept_for_a_transport_that_is_gone() -> None:
    out, _ = opened(0)
    out.send([b"a"])
    out.send([b"b"])
    out.close()
    out.send([b"c"])
    assert (out.is_waiting, out.unread_bytes) == (False, 0)
