"""How much clients may leave unread, each and together."""

from harness.apiserver.server import server_limits


class Client:
    def __init__(self) -> None:
        self.aborted = 0

    def check(self, now_s: float) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        self.aborted += 1


def unread(each: int, together: int) -> server_limits.Unread:
    limits = server_limits.Limits(watch_unread_bytes_max=each, unread_bytes_max=together)
    return server_limits.Unread(limits)


def test_a_watcher_that_leaves_too_much_is_dropped() -> None:
    counted, watcher, lister = unread(100, 10_000), Client(), Client()
    counted.note(watcher, 100, watches=True)
    counted.note(lister, 5_000, watches=False)
    assert (watcher.aborted, lister.aborted, counted.total_bytes) == (0, 0, 5_100)
    counted.note(watcher, 101, watches=True)
    assert (watcher.aborted, lister.aborted, counted.total_bytes) == (1, 0, 5_000)


def test_of_too_much_together_the_most_goes_first() -> None:
    counted, clients = unread(1_000, 100), [Client() for _ in range(4)]
    for client, size in zip(clients, (30, 50, 20, 25), strict=True):
        counted.note(client, size, watches=True)
    assert [client.aborted for client in clients] == [0, 1, 0, 0]
    assert counted.total_bytes == 75


def test_what_was_read_counts_no_more() -> None:
    counted, client = unread(1_000, 100), Client()
    for size in (90, 10, 90, 0, 0, 90):
        counted.note(client, size, watches=False)
    assert (counted.total_bytes, client.aborted) == (90, 0)
    counted.note(client, 0, watches=False)
    assert counted.total_bytes == 0
