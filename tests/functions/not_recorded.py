"""Functions of Spark without recorded answers, each with the reason. Every other one has a file under ``answers/``."""

from __future__ import annotations

GROUPS: dict[str, str] = {
    "agg_funcs": "an aggregate: not a function of one row",
    "window_funcs": "a window function: not a function of one row",
    "generator_funcs": "a generator: makes rows",
    "table_funcs": "a table function: makes rows",
    "sketch_funcs": "reads the sketches that aggregates make; their bytes belong to a library's version",
    "avro_funcs": "needs the module spark-avro",
    "protobuf_funcs": "needs the module spark-protobuf",
    "st_funcs": "geometries are off by default in Spark 4.3",
}
"""Whole groups of Spark's own list."""

_RANDOM = "its value is no function of the row"
_RUN = "its value is that of the run: the instant it began, its user, its catalog"
_OUTSIDE = "reaches outside of the row: files, classes of Java"
_TIME = "the type TIME is off by default in Spark 4.3"
_GROUPING = "a grouping of the query, not a function of the row"

NAMES: dict[str, str] = {
    **dict.fromkeys(["rand", "randn", "random", "uniform", "randstr", "shuffle", "uuid", "monotonically_increasing_id",
                     "spark_partition_id"], _RANDOM),
    **dict.fromkeys(["curdate", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
        "now",
                     "current_catalog", "current_database", "current_schema", "current_path", "current_user",
                     "session_user",
                     "user", "version"], _RUN),
    **dict.fromkeys(["input_file_block_length", "input_file_block_start", "input_file_name", "java_method", "reflect",
                     "try_reflect"], _OUTSIDE),
    **dict.fromkeys(["make_time", "time_diff", "time_from_micros", "time_from_millis", "time_from_seconds",
        "time_to_micros",
                     "time_to_millis", "time_to_seconds", "time_trunc", "to_time", "try_to_time", "time"], _TIME),
    **dict.fromkeys(["window", "session_window", "window_time"], _GROUPING),
    "unix_nanos": "takes only the nanosecond timestamps of Spark 4.3, which are off by default",
    "timestamp_nanos": "gives the nanosecond timestamps of Spark 4.3, which have no type here",
    "collate": "collations other than UTF8_BINARY have no type here",
    "json_tuple": "a generator: makes rows",
    "variant_explode": "a generator: makes rows",
    "variant_explode_outer": "a generator: makes rows",
    "schema_of_variant_agg": "an aggregate: not a function of one row",
    "vector_avg": "an aggregate: not a function of one row",
    "vector_sum": "an aggregate: not a function of one row",
}
"""Single functions."""

SPELT_OTHERWISE: dict[str, str] = {"==": "=", "<>": "!=", "!": "not", "when": "case"}
"""Names that are recorded under another."""
