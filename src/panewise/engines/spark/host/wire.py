"""The columns that travel beside the data of a streaming DataFrame, and their meaning.

=================  ======  =========================================================================================
column             type    meaning
=================  ======  =========================================================================================
``__pw_control``   string  not null on punctuation rows: JSON as in NDJSON files, ``{"ts": "…", "seg_id": "s1"}``:
                           the exclusive bound of the ordering attribute and constants of grouping attributes;
                           ``{}`` covers everything and ends the stream. All data columns of such a row are null
``__pw_row_bound`` bigint  the bound (an ordinal) in force when this data row arrived, null for none; with it late rows
                           are judged exactly, row by row, wherever the stream is cut into micro-batches. On a
                           punctuation row, the bound of all rows from then on
``__pw_position``  bigint  the row's place in the order of arrival; FIRST and LAST need it
``__pw_bad``       string  not null on rows that cannot be used: JSON with their place, what is wrong, and the row as
                           text; all other columns but the position are null. Only sources that go on with bad rows
                           have it, and the query takes it away before anything is computed
``__pw_input``     string  which input of a union the row came from (set by the engine)
=================  ======  =========================================================================================
"""

from __future__ import annotations

import pyarrow as pa

CONTROL = "__pw_control"
ROW_BOUND = "__pw_row_bound"
POSITION = "__pw_position"
BAD = "__pw_bad"
"""Also the column beside the results in which bad rows leave under ``bad_rows="aside"``, then with their stream."""
INPUT = "__pw_input"
SIDE_COLUMNS = (CONTROL, ROW_BOUND, POSITION, BAD, INPUT)
OWN = "__pw_"
"""How the names of these columns, and of all that are made on the way, begin; no column of a user may."""

END_TEXT = "{}"
"""The punctuation that covers everything, on the wire."""

SILENT = "<silent>"
"""The key of a control row that says whether its input fell silent, so that no other waits for it (``idle=``)."""

LATE_COLUMN = "__pw_late"
"""Beside the result columns when late rows are put out: the row as JSON, null on results."""

CHANGE_COLUMN = "__pw_change"
"""Beside the result columns of early results: +1 for a row that holds now, -1 for one that does not any more."""


def in_order(rows: pa.Table) -> pa.Table:
    """Rows in their order of arrival, where they say it; mostly they are in it already."""
    if POSITION not in rows.column_names or rows.column(POSITION).null_count:
        return rows
    places = rows.column(POSITION).to_numpy()
    return rows if (places[1:] >= places[:-1]).all() else rows.sort_by(POSITION)
