"""Quix Streams: it has hopping windows over Kafka topics, and no way to give it rows without a broker.

An ``Application`` asks for the address of a broker when it is made, ``Application.topic`` asks the broker at once, and
windows keep their state for the partitions the broker assigns. Its ``StreamingDataFrame.test`` needs a topic, too. So
this adapter does what a user would do first, and what the library answers is the outcome; a broker that is faked
inside the process would be measured instead of the library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from quixstreams import Application

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, main


def prepare(_job: Job) -> Callable[[], Any]:
    try:
        Application(consumer_group="bids", loglevel=None)
    except ValueError as error:
        raise SystemExit(f"needs a Kafka broker for its windows: {error}") from error
    raise SystemExit("a broker is configured here, and this adapter has no job for one")


def as_table(_job: Job, results: Any) -> pa.Table:
    return results


if __name__ == "__main__":
    main(prepare, as_table)
