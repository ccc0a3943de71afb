"""Functions of dates, timestamps and intervals; asked in UTC and in a zone with summer time."""

from __future__ import annotations

from functions.catalogue import Case, case, each

_ALL = ["date", "timestamp", "timestamp_ntz"]
_PARTS = [
    "year",
    "month",
    "day",
    "dayofmonth",
    "quarter",
    "dayofweek",
    "weekday",
    "dayofyear",
    "weekofyear",
    "hour",
    "minute",
    "second",
    "dayname",
    "monthname",
    "last_day",
]
_FIELDS = [
    "YEAR",
    "YEAROFWEEK",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "DAYOFWEEK",
    "DAYOFWEEK_ISO",
    "DOY",
    "HOUR",
    "MINUTE",
    "SECOND",
]
_UNITS = [
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "DAYOFYEAR",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
]
_TRUNCS = [
    "YEAR",
    "yy",
    "QUARTER",
    "MONTH",
    "mon",
    "WEEK",
    "DAY",
    "dd",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
    "nonsense",
]
_WRITTEN = [
    "yyyy-MM-dd HH:mm:ss",
    "yyyy/MM/dd",
    "dd.MM.yy",
    "EEE, d MMM yyyy",
    "EEEE MMMM",
    "HH:mm:ss.SSSSSS",
    "hh:mm a",
    "D",
    "Q",
    "qqq",
    "L LLL",
    "VV",
    "z",
    "XXX",
    "xx",
    "O",
    "G y",
    "yyyyy",
    "'at' yyyy''",
    "F",
    "k K",
    "S",
    "SSS",
    "h m s",
    "",
    "M d",
    "bad",
    "YYYY-ww",
    "[yyyy]",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "E",
    "a",
    "MMM",
    "u",
    "dd/MM/yyyy HH",
    "zzzz",
    "Z",
    "ZZZZZ",
    "yyyyMMddHHmmss",
    "n",
    "MMMMM",
]
_READ = {
    "yyyy-MM-dd": "string:date",
    "yyyy-MM-dd HH:mm:ss": "string:timestamp",
    "yyyy-M-d": "string:date",
    "dd.MM.yyyy": "string:written",
    "d.M.y": "string:written",
    "yyyyMMdd": "string:written",
    "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]": "string:iso",
    "yyyy": "string:written",
    "MM/dd/yyyy": "string:written",
    "HH:mm:ss": "string:clock",
    "bad": "string:date",
    "yyyy-DDD": "string:written",
    "yyyy-MM-dd HH:mm:ss VV": "string:timestamp",
    "yyyy-MM-dd HH:mm:ss.SSSSSS": "string:timestamp",
    "yy-MM-dd": "string:written",
}

CASES: list[Case] = [
    *each([f"{name}(a)" for name in _PARTS], *_ALL, "string:timestamp", in_zones=True),
    *each([f"extract({field} FROM a)" for field in _FIELDS], *_ALL, named="extract", in_zones=True),
    *each([f"date_part('{field}', a)" for field in (*_FIELDS, "nonsense")], "timestamp", in_zones=True),
    *each("datepart('WEEK', a)", "date", "timestamp"),
    *each(
        [f"extract({field} FROM a)" for field in ("DAY", "HOUR", "MINUTE", "SECOND", "YEAR")],
        "interval day to second",
        named="extract",
    ),
    *each(
        [f"extract({field} FROM a)" for field in ("YEAR", "MONTH", "DAY")], "interval year to month", named="extract"
    ),
    *each(
        ["date_add(a, b)", "date_sub(a, b)"],
        ("date", "int:days"),
        ("date", "tinyint"),
        ("string:date", "int:days"),
        ("date", "bigint"),
        ("date", "string:digits"),
    ),
    *each(["date_add(a, b)", "date_sub(a, b)"], ("timestamp", "int:days"), in_zones=True),
    *each("dateadd(a, b)", ("date", "int:days")),
    *each([f"dateadd({unit}, b, a)" for unit in _UNITS], ("timestamp", "int:months"), named="dateadd", in_zones=True),
    *each(
        [f"timestampadd({unit}, b, a)" for unit in ("MONTH", "DAY", "HOUR")],
        ("timestamp_ntz", "int:months"),
        ("date", "int:months"),
        named="timestampadd",
        in_zones=True,
    ),
    *each(["datediff(a, b)", "date_diff(a, b)"], ("date", "date"), ("string:date", "date")),
    *each("datediff(a, b)", ("timestamp", "timestamp"), ("timestamp", "date"), in_zones=True),
    *each(
        [f"datediff({unit}, b, a)" for unit in _UNITS if unit != "DAYOFYEAR"],
        ("timestamp", "timestamp"),
        named="datediff",
        in_zones=True,
    ),
    *each(
        [f"timestampdiff({unit}, b, a)" for unit in ("MONTH", "DAY", "HOUR")],
        ("timestamp_ntz", "timestamp_ntz"),
        ("date", "date"),
        named="timestampdiff",
        in_zones=True,
    ),
    *each(
        "add_months(a, b)",
        ("date", "int:months"),
        ("string:date", "int:months"),
        ("timestamp", "int:months"),
        in_zones=True,
    ),
    *each(
        ["months_between(a, b)", "months_between(a, b, false)"],
        ("timestamp", "timestamp"),
        ("date", "date"),
        in_zones=True,
    ),
    *each("next_day(a, b)", ("date", "string:weekday"), ("timestamp", "string:weekday")),
    *each(["next_day(a, 'MON')", "next_day(a, 'sunday')"], "date"),
    *each([f"trunc(a, '{unit}')" for unit in _TRUNCS], "date"),
    case("trunc(a, b)", "date", "string:unit"),
    *each("trunc(a, 'MM')", "timestamp", "string:date", in_zones=True),
    *each([f"date_trunc('{unit}', a)" for unit in _TRUNCS], "timestamp", in_zones=True),
    *each("date_trunc('HOUR', a)", "timestamp_ntz", "date", "string:timestamp", in_zones=True),
    *each("date_trunc(a, b)", ("string:unit", "timestamp"), in_zones=True),
    *each(
        [f"date_format(a, '{one}')" if "'" not in one else f'date_format(a, "{one}")' for one in _WRITTEN],
        "timestamp",
        in_zones=True,
    ),
    *each(
        ["date_format(a, 'yyyy-MM-dd')", "date_format(a, 'EEE d MMM y HH:mm')"],
        "date",
        "timestamp_ntz",
        "string:date",
        in_zones=True,
    ),
    *each("date_format(a, b)", ("timestamp", "string:format"), in_zones=True),
    *each(
        [
            "to_date(a)",
            "try_to_date(a)",
            "to_timestamp(a)",
            "try_to_timestamp(a)",
            "to_timestamp_ntz(a)",
            "to_timestamp_ltz(a)",
        ],
        "string:timestamp",
        "string:date",
        *_ALL,
        in_zones=True,
    ),
    *[
        one
        for pattern, pool in _READ.items()
        for one in each(
            [f'{name}(a, "{pattern}")' for name in ("to_date", "to_timestamp", "try_to_timestamp")], pool, in_zones=True
        )
    ],
    *[
        one
        for pattern in ("yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "bad")
        for one in each(
            [
                f'{name}(a, "{pattern}")'
                for name in (
                    "to_timestamp_ntz",
                    "try_to_date",
                    "unix_timestamp",
                    "to_timestamp_ltz",
                    "to_unix_timestamp",
                )
            ],
            _READ[pattern],
            in_zones=True,
        )
    ],
    *each("to_timestamp(a, b)", ("string:timestamp", "string:format"), in_zones=True),
    *each(["unix_timestamp(a)", "to_unix_timestamp(a)"], "string:timestamp", *_ALL, in_zones=True),
    *each("from_unixtime(a)", "bigint:seconds", in_zones=True),
    *each(["from_unixtime(a, 'yyyy-MM-dd')", "from_unixtime(a, 'HH:mm:ss XXX')"], "bigint:seconds", in_zones=True),
    *each(["unix_seconds(a)", "unix_millis(a)", "unix_micros(a)"], "timestamp", "date", in_zones=True),
    *each("unix_date(a)", "date"),
    *each("date_from_unix_date(a)", "int:days", "int"),
    *each("timestamp_seconds(a)", "bigint:seconds", "double:seconds", "int", "decimal(20,6)", "float"),
    *each("timestamp_millis(a)", "bigint:millis", "int"),
    *each("timestamp_micros(a)", "bigint:micros", "int"),
    *each("make_date(a, b, c)", ("int:year", "int:month", "int:day")),
    *each(
        [
            "make_timestamp(a, b, c, d, e, f)",
            "make_timestamp_ntz(a, b, c, d, e, f)",
            "make_timestamp_ltz(a, b, c, d, e, f)",
            "try_make_timestamp(a, b, c, d, e, f)",
            "try_make_timestamp_ntz(a, b, c, d, e, f)",
            "try_make_timestamp_ltz(a, b, c, d, e, f)",
        ],
        ("int:year", "int:month", "int:day", "int:hour", "int:minute", "decimal(16,6):second"),
        in_zones=True,
    ),
    *each(
        [
            "make_timestamp(2024, a, b, c, d, 30.5)",
            "make_timestamp(2024, 3, 10, c, d, 0)",
            "make_timestamp(2024, 11, 3, c, d, 0, 'America/New_York')",
        ],
        ("int:month", "int:day", "int:hour", "int:minute"),
        in_zones=True,
    ),
    *each(
        ["make_timestamp(2024, 6, 1, 12, 0, 0, a)", "make_timestamp_ltz(2024, 6, 1, 12, 0, 0, a)"],
        "string:zone",
        in_zones=True,
    ),
    *each(["make_ym_interval(a, b)"], ("int:few", "int:months")),
    *each("make_ym_interval(a)", "int"),
    case("make_ym_interval()"),
    *each(["make_dt_interval(a, b, c, d)"], ("int:few", "int:hour", "int:minute", "decimal(16,6):second")),
    *each("make_dt_interval(a)", "int"),
    case("make_dt_interval()"),
    *each(
        ["make_interval(a, b, c, d)", "try_make_interval(a, b, c, d)"], ("int:few", "int:months", "int:few", "int:days")
    ),
    *each("make_interval(a)", "int:small"),
    *each("make_interval(0, 0, 0, 0, a, b, c)", ("int:hour", "int:minute", "decimal(16,6):second")),
    *each(["from_utc_timestamp(a, b)", "to_utc_timestamp(a, b)"], ("timestamp", "string:zone"), in_zones=True),
    *each(
        [
            f"{name}(a, '{zone}')"
            for name in ("from_utc_timestamp", "to_utc_timestamp")
            for zone in ("America/New_York", "Europe/Berlin", "+02:00", "Asia/Kolkata")
        ],
        "timestamp",
        "string:timestamp",
        in_zones=True,
    ),
    *each(
        [
            "convert_timezone('America/New_York', 'Europe/Berlin', a)",
            "convert_timezone('Asia/Tokyo', a)",
            "convert_timezone('+01:00', '-03:30', a)",
        ],
        "timestamp_ntz",
        "timestamp",
        in_zones=True,
    ),
    *each("convert_timezone(a, b, c)", ("string:zone", "string:zone", "timestamp_ntz")),
    *each("current_timezone()", (), in_zones=True),
    *each(
        [
            "time_bucket(INTERVAL '15' MINUTE, a)",
            "time_bucket(INTERVAL '1' DAY, a)",
            "time_bucket(INTERVAL '1' MONTH, a)",
        ],
        "timestamp",
        "timestamp_ntz",
        "date",
        in_zones=True,
    ),
]
