"""NDJSON that is still being written: pipes, files that grow, sockets with and without acknowledgement."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.disordered import PLAN, cut, disordered
from embedded.plans import COLUMNS, bag
from embedded.test_live_runs import expected, rows_of
from panewise.core.errors import CheckpointError, SourceError
from panewise.dataflow import open_plan
from panewise.engines.embedded import EmbeddedRun
from panewise.engines.embedded.positions import Position
from panewise.engines.embedded.sinks import SocketSink
from panewise.engines.embedded.sources import FollowedFile, LineSource, PipeSource, SocketSource
from panewise.files.reader import strictly
from panewise.files.senders import Address
from panewise.progress.punctuation import Punctuation

SCHEMA = pa.schema(COLUMNS)


def as_lines(items: Any) -> list[bytes]:
    """Rows and promises as NDJSON, one line each."""
    lines: list[bytes] = []
    for item in items:
        if isinstance(item, Punctuation):
            lines.append(json.dumps({"punctuation": {"ts": item.bound("ts")}}).encode() + b"\n")
        else:
            lines += [json.dumps(row).encode() + b"\n" for row in item.to_pylist()]
    return lines


LINES = as_lines(cut(disordered(), [9]))
EXPECTED = expected(s=cut(disordered(), [9]))


class Pieces(LineSource):
    """Text that arrives in given pieces."""

    def __init__(self, pieces: list[bytes], **options: Any) -> None:
        super().__init__("pieces", **options)
        self.pieces = pieces

    def read(self) -> Iterator[bytes]:
        yield from self.pieces


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 400), max_size=30), st.integers(0, 40), st.booleans())
def test_text_may_be_cut_anywhere_and_counted_lines_are_left_out(
        sizes: list[int], done: int, declared: bool) -> None:
    text = b"\n".join([b"".join(LINES[:50]), b" ", b"".join(LINES[50:])])
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    pieces.append(text[at:].rstrip(b"\n"))
    first = [json.loads(line) for line in LINES[:done]]
    promises = sum("punctuation" in line for line in first)
    found = list(Pieces(pieces, columns=SCHEMA if declared else None).items(Position(done - promises, promises)))
    rows = [row for item in found if isinstance(item, pa.RecordBatch) for row in item.to_pylist()]
    rest = [json.loads(line) for line in LINES[done:]]
    assert rows == [line for line in rest if "punctuation" not in line]
    assert sum(isinstance(item, Punctuation) for item in found) == sum("punctuation" in line for line in rest)


def test_columns_are_learned_from_the_first_lines_and_later_ones_may_have_more_or_fewer() -> None:
    source = Pieces([b'{"punctuation": {"ts": "2026-01-01T00:00:00Z"}}\n{"ts": "2026-01-01T00:0', b'0:01Z", "v": 1}\n',
                     b'{"ts": "2026-01-01T00:00:02Z", "w": "new"}\n'])
    assert source.schema.time == "ts"
    assert source.arrow.field("ts").type == pa.timestamp("us", tz="UTC")
    found = [item for item in source.items(Position()) if isinstance(item, pa.RecordBatch)]
    assert [row["v"] for batch in found for row in batch.to_pylist()] == [1, None]


@pytest.mark.parametrize(("text", "message"), [
    (b'{"ts": 1}\n\n{"ts": }\n', "pieces:3: not JSON"),
    (b'{"ts": 1}\n{"ts": "x"}\n', "pieces:2: .*'ts' is \"x\", expected int64"),
    (b'{"ts": 1}\n{"punctuation": {"k": 3}}\n', "pieces:2: the punctuation names 'k'"),
    (b'{"ts": 1}\n{"ts": 2', "pieces:2: not JSON"), (b"\n", "no data row")])
def test_a_line_that_is_wrong_is_named(text: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message.replace("(", r"\(")):
        list(strictly(Pieces([text]).items(Position())))


def test_a_pipe_is_read_as_it_is_written() -> None:
    reading, writing = os.pipe()
    source = PipeSource("s", reading, columns=SCHEMA)
    out: list[Any] = []
    run = EmbeddedRun(open_plan(PLAN), {"s": source}, live=True)
    tables = run.tables()
    os.write(writing, b"".join(LINES[:41]))
    out += next(tables).to_pylist()
    assert out, "results came while the pipe was still open"
    os.write(writing, b"".join(LINES[41:]))
    os.close(writing)
    out += [row for table in tables for row in table.to_pylist()]
    assert bag(out) == bag(EXPECTED)
    os.close(reading)


def test_a_followed_file_is_read_as_it_grows_and_half_a_line_waits_for_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "growing.ndjson"
    half = LINES[60][:11]
    path.write_bytes(b"".join(LINES[:60]) + half)
    out: list[dict[str, Any]] = []
    run = EmbeddedRun(open_plan(PLAN), {"s": FollowedFile(path, poll=0.001)}, live=True, checkpoint=tmp_path / "c")
    query = run.query
    tables = run.tables()
    out += next(tables).to_pylist()
    out += next(tables).to_pylist()
    run.stop()
    out += [row for table in tables for row in table.to_pylist()]
    assert query.status()["rows"] <= 60, "the half line was not taken"
    with path.open("ab") as file:
        file.write(LINES[60][11:] + b"".join(LINES[61:]) + b'{"punctuation": {"ts": 1000}}\n')
    again = EmbeddedRun(open_plan(PLAN), {"s": FollowedFile(path, poll=0.001)}, live=True,
                        checkpoint=tmp_path / "c")
    for table in again.tables():
        out += table.to_pylist()
        if len(out) >= len(EXPECTED):
            again.stop()
    assert bag(out) == bag(EXPECTED)


def test_a_followed_file_that_becomes_shorter_or_is_missing_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    with pytest.raises(SourceError, match="no such file"):
        FollowedFile(path)
    path.write_bytes(b"".join(LINES[:5]))
    items = FollowedFile(path, poll=0.001).items(Position())
    next(items)
    path.write_bytes(LINES[0])
    with pytest.raises(SourceError, match="became shorter"):
        list(items)


# -- sockets


def addresses(tmp_path: Path, kind: str, ack: bool = False) -> str:
    return ("tcp://:0" if kind == "tcp" else f"unix://{tmp_path / 's.sock'}") + ("?ack" if ack else "")


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_rows_come_over_a_socket_and_results_leave_over_another(tmp_path: Path, kind: str) -> None:
    source = SocketSource(addresses(tmp_path, kind))
    results = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        with source.address.connect() as connection:
            connection.sendall(b"".join(LINES))

    sender = Thread(target=send)
    sender.start()
    sink = SocketSink(f"tcp://127.0.0.1:{results.getsockname()[1]}")
    receiver, _ = results.accept()
    run = EmbeddedRun(open_plan(PLAN), {"s": source}, live=True, sinks=[sink])
    assert bag(rows_of(run)) == bag(EXPECTED)
    sender.join()
    with receiver, receiver.makefile() as lines:
        assert sum(1 for _ in lines) == len(EXPECTED)
    results.close()
    assert not (tmp_path / "s.sock").exists()


def test_a_server_listens_to_this_machine_only_unless_told_otherwise() -> None:
    assert str(Address.parse("tcp://:9000")) == "tcp://127.0.0.1:9000"
    assert Address.parse("tcp://0.0.0.0:9000").host == "0.0.0.0"
    for wrong in ("tcp://host", "tcp://host:x", "unix://", "http://host:80", "tcp://:9?no", "tcp://:99999999"):
        with pytest.raises(SourceError, match="is no address"):
            Address.parse(wrong)


def test_a_plain_socket_cannot_be_checkpointed_and_says_what_can(tmp_path: Path) -> None:
    source = SocketSource("tcp://:0")
    with pytest.raises(CheckpointError, match=r"\?ack in the address"):
        EmbeddedRun(open_plan(PLAN), {"s": source}, checkpoint=tmp_path)
    source.close()
    with pytest.raises(SourceError, match="declare the columns"):
        SocketSource("tcp://:0?ack")


def test_an_acknowledged_sender_goes_on_where_it_was_after_hanging_up_and_after_a_restart(tmp_path: Path) -> None:
    """A sender that keeps only what was not acknowledged, against queries that stop: nothing is lost or twice."""
    out: list[dict[str, Any]] = []
    forgotten = 0

    def send(address: Address, stop_after: int) -> None:
        nonlocal forgotten
        with address.connect() as connection, connection.makefile() as answers:
            received = json.loads(answers.readline())["received"]
            assert received >= forgotten, "never asked for what was acknowledged"
            part = b"".join(LINES[received : received + stop_after])
            connection.sendall(part + (LINES[0][:5] if stop_after < 1000 else b'{"punctuation": {}}\n'))
            while stop_after != 30 or forgotten < received:  # some hang up at once, others wait to hear something
                if not (answer := answers.readline()):
                    return
                forgotten = max(forgotten, json.loads(answer)["acknowledged"])

    for sends in ([30, 30, 20], [30, 1000]):
        source = SocketSource(addresses(tmp_path, "unix", ack=True), columns=SCHEMA)
        run = EmbeddedRun(open_plan(PLAN), {"s": source}, live=True, checkpoint=tmp_path / "c", checkpoint_rows=10)

        def all_senders(address: Address = source.address, sends: list[int] = sends) -> None:
            for stop_after in sends:
                send(address, stop_after)

        senders = Thread(target=all_senders)
        senders.start()
        for table in run.tables():
            out += table.to_pylist()
            if len(sends) == 3 and run.query.status(windows=0)["rows"] >= 60:
                run.stop()
        senders.join(30)
        assert not senders.is_alive()
    assert bag(out) == bag(EXPECTED)
    assert forgotten == len(LINES) + 1
