"""The auction site as an endless or finite Spark stream: seeded, disordered, punctuated, and the same on every replay.

The stream is made in segments, each a small :class:`~panewise.datasets.auction.AuctionSite` of its own that goes on
where the one before ended. An offset is a number of segments, and a segment follows from the seed, so a task that is
repeated makes the same rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind, to_ordinals
from panewise.core.time import SECOND, parse_duration, parse_timestamp
from panewise.datasets.auction import STREAMS, AuctionSite
from panewise.datasets.disorder import promise_positions
from panewise.engines.spark.host.wire import CONTROL, END_TEXT, POSITION, ROW_BOUND
from panewise.engines.spark.io.source_options import foreign_offset
from panewise.engines.spark.io.source_rows import control_rows
from panewise.engines.spark.lower.types import spark_type
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND

FORMAT = "panewise_auction"
SEGMENT_EVENTS = 50_000
TIME = "ts"


@dataclass(frozen=True)
class AuctionOptions:
    """One stream of an auction site, cut into segments."""

    stream: str = "bids"
    site: dict[str, Any] = field(default_factory=dict)
    """The parameters of the site; its ``events`` are those of the whole stream."""
    punctuate: int = SECOND
    segment_events: int = SEGMENT_EVENTS
    live: bool = False
    """Whether rows come as time passes, instead of as fast as they can be taken."""
    endless: bool = False

    @property
    def segments(self) -> int | None:
        """How many there are; ``None`` without an end."""
        return None if self.endless else -(-AuctionSite(**self.site).events // self.segment_events)

    def segment(self, number: int) -> pa.Table:
        """The rows of one segment in arrival order."""
        whole = AuctionSite(**self.site)
        left = self.segment_events if self.endless else whole.events - number * self.segment_events
        part = replace(whole, events=min(left, self.segment_events), start=self.start_of(number),
                       seed=whole.seed + 1_000_003 * number)
        return part.stream(self.stream)

    def start_of(self, number: int) -> int:
        """The event time at which a segment begins; no row before it is in a later one."""
        whole = AuctionSite(**self.site)
        return parse_timestamp(whole.start) + number * self.segment_events * SECOND // whole.rate

    def passed(self, began: float, now: float) -> int:
        """How many segments are due after so many seconds of a live stream."""
        return int((now - began) * AuctionSite(**self.site).rate / self.segment_events) if self.live else 1 << 62


def read_auction(spark: SparkSession, stream: str = "bids", site: AuctionSite | None = None, *, streaming: bool = True,
                 punctuate: str | int = "1 s", segment_events: int = SEGMENT_EVENTS, live: bool = False,
                 endless: bool = False) -> DataFrame:
    """A stream of an auction site (``bids``, ``auctions`` or ``persons``) as a DataFrame with exact punctuation.

    ``site`` gives its rate, keys, skew, disorder and seed. Segments of ``segment_events`` events are what a micro-batch
    is made of; with ``live`` they come at the rate of the site, with ``endless`` they go on for ever.
    """
    if stream not in STREAMS:
        raise PlanError(f"an auction site has no stream {stream!r}; there are {', '.join(STREAMS)}")
    if segment_events < 1:
        raise PlanError(f"a segment needs at least one event, not {segment_events}")
    if endless and not streaming:
        raise PlanError("an endless stream cannot be read at once: read it as a stream, or give it an end")
    options = AuctionOptions(stream, asdict(site or AuctionSite()), parse_duration(punctuate), segment_events, live,
                             endless)
    spark.dataSource.register(PanewiseAuction)
    reader: Any = spark.readStream if streaming else spark.read
    found: DataFrame = reader.format(FORMAT).option("panewise", json.dumps(asdict(options))).load()
    return found


class PanewiseAuction(DataSource):
    """The data source behind ``read_auction``."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format(...)``."""
        return FORMAT

    def _settings(self) -> AuctionOptions:
        return AuctionOptions(**json.loads(self.options["panewise"]))

    def schema(self) -> T.StructType:
        """The stream's columns, then the side columns."""
        settings = self._settings()
        columns = AuctionSite(**{**settings.site, "events": 0}).stream(settings.stream).schema
        fields = [T.StructField(f.name, spark_type(f.type)) for f in columns]
        return T.StructType([*fields, T.StructField(CONTROL, T.StringType()), T.StructField(ROW_BOUND, T.LongType()),
                             T.StructField(POSITION, T.LongType())])

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:  # noqa: N802
        """Structured Streaming."""
        return AuctionStreamReader(self._settings())

    def reader(self, schema: T.StructType) -> DataSourceReader:
        """Batch."""
        return AuctionBatchReader(self._settings())


@dataclass
class Segment(InputPartition):
    """One segment for one task."""

    number: int
    last: bool
    """Whether the stream ends behind it."""


class AuctionStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are numbers of segments."""

    def __init__(self, options: AuctionOptions) -> None:
        self.options = options
        self.limit: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first segment; a live stream begins now."""
        return {"segment": 0, "began": time.time()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One segment a micro-batch, unless time has passed for more."""
        return ReadAllAvailable() if self.options.live else ReadMaxRows(self.options.segment_events)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """An endless stream has no present end: one segment is taken."""
        if self.options.endless and not self.options.live:
            self.limit = 1

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next micro-batch may go."""
        at, began = place_of(start)
        due = self.options.passed(began, time.time())
        if self.options.segments is not None:
            due = min(due, self.options.segments)
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        step = max(1, rows // self.options.segment_events) if rows is not None else max(1, due - at)
        if self.limit is not None:
            step, self.limit = min(step, self.limit), self.limit - min(step, self.limit)
        return {"segment": max(at, min(at + step, due)), "began": began}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The segments between two offsets."""
        return segments_of(self.options, place_of(start)[0], place_of(end)[0])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task."""
        assert isinstance(partition, Segment)
        return made(self.options, partition)


class AuctionBatchReader(DataSourceReader):
    """All segments at once."""

    def __init__(self, options: AuctionOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        """One task per segment."""
        return segments_of(self.options, 0, self.options.segments or 0)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task."""
        assert isinstance(partition, Segment)
        return made(self.options, partition)


def place_of(offset: dict[str, Any]) -> tuple[int, float]:
    """The next segment, and when a live stream began."""
    try:
        return int(offset["segment"]), float(offset["began"])
    except (KeyError, TypeError, ValueError) as error:
        raise foreign_offset(offset, "a generated site") from error


def segments_of(options: AuctionOptions, start: int, end: int) -> list[Segment]:
    """The segments from one offset up to another."""
    return [Segment(number, number + 1 == options.segments) for number in range(start, end)]


def made(options: AuctionOptions, segment: Segment) -> Iterator[pa.RecordBatch]:
    """The rows of a segment with their side columns, then what it promises."""
    rows = options.segment(segment.number)
    times = to_ordinals(rows.column(TIME), TIME)
    places, promised = promise_positions(times, options.punctuate)
    began = options.start_of(segment.number)
    bounds = np.full(rows.num_rows, began if segment.number else NO_BOUND, np.int64)
    for place, bound in zip(places.tolist(), promised.tolist(), strict=True):
        bounds[place:] = max(bound, began)
    positions = np.arange(rows.num_rows, dtype=np.int64) + (segment.number * options.segment_events + 1)
    schema = pa.schema([*rows.schema, pa.field(CONTROL, pa.string()), pa.field(ROW_BOUND, pa.int64()),
                        pa.field(POSITION, pa.int64())])
    columns = [*rows.columns, pa.nulls(rows.num_rows, pa.string()), pa.array(bounds, mask=bounds == NO_BOUND),
               pa.array(positions)]
    yield from pa.table(columns, schema=schema).combine_chunks().to_batches()
    end = Punctuation.below(TIME, options.start_of(segment.number + 1))
    said = [END_TEXT] if segment.last else [json.dumps(end.to_json(TIME, OrdinalKind.TIMESTAMP))]
    bound = FINISHED if segment.last else options.start_of(segment.number + 1)
    yield from control_rows(said, bound, schema).to_batches()
