"""Senders of sockets that misbehave: what they began is a bad row, and the run goes on with the next one."""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import BadRowError
from panewise.engines.embedded.sources import SocketSource
from panewise.engines.embedded.sources.lines import READ_BYTES
from panewise.files.senders import Address

QUERY = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
ROW = b'{"ts": 1}\n'


def within_a_line(peer: socket.socket) -> None:
    peer.sendall(ROW + b'{"ts": 2')


def within_an_array(peer: socket.socket) -> None:
    peer.sendall(b'[{"ts": 1}, {"ts": 2')


def within_a_line_that_is_too_long(peer: socket.socket) -> None:
    peer.sendall(ROW + b'{"ts": 2, "x": "' + b"x" * 20_000)


def reset(peer: socket.socket) -> None:
    peer.sendall(ROW)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets the connection


def a_browser(peer: socket.socket) -> None:
    peer.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while peer.recv(1_000):
        pass


def a_health_check(peer: socket.socket) -> None:
    del peer


def sending(address: Address, *senders: Callable[[socket.socket], None]) -> Thread:
    """They connect one after the other; the last one is well behaved."""

    def send() -> None:
        for one in (*senders, lambda peer: peer.sendall(ROW * 3)):
            with address.connect() as peer:
                one(peer)

    thread = Thread(target=send)
    thread.start()
    return thread


def ran(*senders: Callable[[socket.socket], None], **options: Any) -> tuple[list[int], pw.Run]:
    run = pw.run(QUERY, s="tcp://:0", columns={"s": "ts bigint"}, max_line=10_000, **options)
    thread = sending(run.streams["s"].address, *senders)
    try:
        counts = [row["n"] for row in run]
    finally:
        thread.join(30)
    assert not thread.is_alive()
    return counts, run


BROKEN: dict[Callable[[socket.socket], None], str] = {
    within_a_line: "the sender hung up in the middle of a line",
    within_an_array: "the sender hung up in the middle of a line",
    within_a_line_that_is_too_long: "the line is longer than the limit of 10,000 bytes",
    reset: r"the connection to the sender was lost \(Connection reset by peer\): what it sent last may be missing",
}


@pytest.mark.parametrize("sender", BROKEN, ids=lambda sender: sender.__name__)
def test_what_a_sender_only_began_is_a_bad_row_and_the_next_sender_goes_on(
        tmp_path: Path, sender: Callable[[socket.socket], None]) -> None:
    path = tmp_path / "bad.ndjson"
    counts, run = ran(sender, sender, bad_rows=f"aside:{path}")
    assert counts == [5] or (sender is reset and counts[0] in {3, 4, 5})  # a reset may overtake what was sent before
    assert run.status()["bad"] == 2
    aside = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(aside) == 2
    for bad in aside:
        assert bad["place"].startswith(str(run.streams["s"].address))
        assert re.match(BROKEN[sender], bad["reason"])
    if sender is within_a_line:
        assert [bad["row"] for bad in aside] == ['{"ts": 2'] * 2
        assert [bad["place"].rsplit(":", 1)[1] for bad in aside] == ["2", "4"]


@pytest.mark.parametrize("sender", BROKEN, ids=lambda sender: sender.__name__)
def test_by_default_it_stops_the_run_by_name(sender: Callable[[socket.socket], None]) -> None:
    source = SocketSource("tcp://:0", columns=pa.schema({"ts": pa.int64()}), max_line=10_000)
    with source.address.connect() as peer:
        sender(peer)
    with pytest.raises(BadRowError, match=rf"tcp://127.0.0.1:\d+:\d: {BROKEN[sender]}.*bad_rows='skip' counts them"):
        list(pw.run(QUERY, s=source))


def test_skipped_ones_are_counted() -> None:
    counts, run = ran(within_a_line, within_a_line, within_a_line, bad_rows="skip")
    assert counts == [6]
    assert run.status()["bad"] == 3


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_browsers_and_health_checks_are_no_senders(policy: str) -> None:
    counts, run = ran(a_health_check, a_browser, a_health_check, bad_rows=policy)
    assert counts == [3]
    assert run.streams["s"].refused == 3
    assert run.status()["bad"] == 0


def test_a_last_row_without_an_end_of_line_is_a_row_and_ends_the_stream() -> None:
    run = pw.run(QUERY, s="tcp://:0", columns={"s": "ts bigint"})
    with run.streams["s"].address.connect() as peer:
        peer.sendall(ROW + b'{"ts": 2}')
    assert [row["n"] for row in run] == [2]


def test_a_line_without_an_end_is_not_kept_in_memory() -> None:
    source = SocketSource("tcp://:0", columns=pa.schema({"ts": pa.int64()}), max_line=100_000)
    held: list[int] = []

    def send() -> None:
        with source.address.connect() as peer:
            for _ in range(200):
                peer.sendall(b"x" * 100_000 if held else b"{" + b"x" * 99_999)
                held.append(sum(map(len, source.text.cutter._pieces)))
            peer.sendall(b"\n" + ROW)

    thread = Thread(target=send)
    thread.start()
    run = pw.run(QUERY, s=source, bad_rows="skip")
    assert [row["n"] for row in run] == [1]
    thread.join(30)
    assert run.status()["bad"] == 1
    assert max(held) <= 100_000 + READ_BYTES
