"""Functions of Spark that no query may call, with the reason: their value is not one value, a function of the row.

One text has one answer, whatever engine runs it, however often and in how many pieces. What draws lots, asks session or
machine, or runs code that is named in a text cannot keep that promise. The list holds every spelling of Spark.

Functions that read XML have one option that names a file, which the JVM would open wherever it may be, also at an
address; with every other option they are functions of the row.
"""

from __future__ import annotations

from sqlglot import exp

_LOT = "two runs of one query would give two answers"
_PLACE = "the value depends on how Spark cuts the data into files and partitions, not on the row"
_SESSION = "the value depends on who runs the query and where, not on the row"
_CODE = "it would run code that the text of a query names"

_ROWS = "it makes several rows of one, and an expression has one value a row"

_LOT_REMEDY = "put the value into the stream before the query reads it, or derive it from columns: xxhash64(a, b)"
_PLACE_REMEDY = "put the value into the stream as a column before the query reads it"
_SESSION_REMEDY = "give the value as a parameter: write :name and params={'name': ...}"
_CODE_REMEDY = "call the function in your own program and give its result to the stream"
_ROWS_REMEDY = "make an array of the values and write LATERAL VIEW explode(...) t AS x"

REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"), (_LOT, _LOT_REMEDY)),
    **dict.fromkeys(("input_file_name", "input_file_block_start", "input_file_block_length",
                     "monotonically_increasing_id", "spark_partition_id"), (_PLACE, _PLACE_REMEDY)),
    **dict.fromkeys(("current_user", "user", "session_user", "current_catalog", "current_database", "current_schema",
                     "current_timezone", "version"), (_SESSION, _SESSION_REMEDY)),
    **dict.fromkeys(("reflect", "java_method", "try_reflect", "call_function", "call_udf"), (_CODE, _CODE_REMEDY)),
    **dict.fromkeys(("stack", "json_tuple"), (_ROWS, _ROWS_REMEDY)),
}
"""Name in lower case: why, and what to do instead."""

_WITH_OPTIONS = ("from_xml", "schema_of_xml", "to_xml")
_NAMES_A_FILE = "rowvalidationxsdpath"
_FILE_REMEDY = f"write the names of options as text, map('mode', 'FAILFAST'), and leave out {_NAMES_A_FILE}"


def refused_option(node: exp.Func, name: str) -> tuple[str, str] | None:
    """What is wrong with a call whose options may name a file: that one, or names that are only computed."""
    if name.lower() not in _WITH_OPTIONS:
        return None
    for options in node.find_all(exp.Anonymous):
        if options.name.lower() == "map" and any(_opens(key) for key in options.expressions[::2]):
            return f"{name.lower()}(...) would open a file that the text of a query names", _FILE_REMEDY
    return None


def _opens(key: exp.Expr) -> bool:
    """Whether the name of an option may be that of the file."""
    return not (isinstance(key, exp.Literal) and key.is_string) or key.name.strip().lower() == _NAMES_A_FILE
