"""Query texts that the grammar of the language makes: many are queries, many have types that do not fit."""

from __future__ import annotations

from functools import cache
from random import Random

import pyarrow as pa

from panewise.aggregates.registry import names as aggregate_names
from panewise.core.schema import Catalog, SourceKind, SourceSchema
from panewise.functions.binding.library import supported_names

COLUMNS = {
    "ts": pa.timestamp("us", tz="UTC"),
    "k": pa.string(),
    "v": pa.int64(),
    "i": pa.int32(),
    "f": pa.float64(),
    "g": pa.float32(),
    "b": pa.bool_(),
    "d": pa.date32(),
    "m": pa.decimal128(10, 2),
    "big": pa.decimal128(38, 18),
    "raw": pa.binary(),
    "local": pa.timestamp("us"),
    "xs": pa.list_(pa.int64()),
    "ws": pa.list_(pa.string()),
    "p": pa.struct({"x": pa.int64(), "y": pa.string()}),
    "h": pa.map_(pa.string(), pa.int64()),
    "seg-id": pa.int16(),
}
NUMERIC, TEXTS = ("v", "i", "f", "m", "seg-id"), ("k",)
OPERATORS = ("+", "-", "*", "/", "%", "||", "&", "|", "^", "DIV", "=", "<", "<<", ">>")
DEEPEST = 4


@cache
def typed_catalog() -> Catalog:
    """Three streams with a column of every kind, one whose time is a number, and tables."""
    plain = {"k": pa.string(), "v": pa.int64(), "ts": pa.int64()}
    return Catalog(
        {
            **{name: SourceSchema(COLUMNS, "ts") for name in ("s", "t", "u")},
            "n": SourceSchema(plain, "ts"),
            "tab": SourceSchema(plain, "ts", SourceKind.NRR),
            "rel": SourceSchema(plain, "ts", SourceKind.RELATION),
        }
    )


@cache
def scalar_names() -> tuple[str, ...]:
    """The one-row functions there are."""
    return tuple(sorted(supported_names()))


class Grammar:
    """Draws one query."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.aliases: list[str] = []
        self.sane = random.random() < 0.6
        """Whether types and units fit, as far as a grammar can see to it: such queries get further."""
        self.with_ids = random.random() < 0.5
        """Whether all windows have WA, or none has; in one place of two."""
        self.windowed = random.random() < 0.5
        """Whether sources have windows, or aggregates."""

    def choose(self, *options: str) -> str:
        return self.random.choice(options)

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def query(self, depth: int = 0) -> str:
        text = self.select(depth)
        while self.often(0.08):
            text += f" {self.choose('UNION', 'UNION ALL', 'EXCEPT ALL', '∪')} {self.select(depth)}"
        return text

    def select(self, depth: int) -> str:
        outside, self.aliases = self.aliases, []
        sources = ", ".join(self.source(depth) for _ in range(self.random.choice((1, 1, 1, 1, 2, 2, 3))))
        if self.often(0.1):
            kind = self.choose("JOIN", "LEFT JOIN", "FULL OUTER JOIN", "SEMI JOIN", "ANTI JOIN", "RIGHT JOIN")
            sources += f" {kind} {self.source(depth)} ON {self.predicate(depth)}"
        aggregated = self.often(0.5)
        items = [self.item(depth, aggregated) for _ in range(self.random.choice((1, 1, 2, 3)))]
        keys = (
            [self.expression(2) if self.often(0.2) else self.column() for _ in range(self.random.choice((0, 1, 1, 2)))]
            if aggregated
            else []
        )
        listed = ", ".join([*keys, *items])
        if self.often(0.08):
            call = self.choose("Istream", "Dstream", "Rstream", "Wstream", "Rstream-restore", "Istream-restore")
            listed = f"{call}({'*' if self.often(0.5) else listed}){self.window() if self.often(0.4) else ''}"
        elif self.often(0.05):
            listed = self.choose("*", f"{self.choose(*self.aliases)}.*", f"*, {listed}")
        text = f"SELECT {self.choose('', '', '', 'DISTINCT ', 'DISTINCT RECENT ')}{listed} FROM {sources}"
        if self.often(0.35):
            text += f" WHERE {self.predicate(depth)}"
        if keys:
            text += f" {self.choose('GROUP BY', 'GROUPBY', 'GROUP-BY')} {', '.join(keys)}"
            text += f" {self.window()}" if self.often(0.1) else ""
        if self.often(0.03):
            text += f" LIFETIME {self.quantity()}"
        self.aliases = outside
        return text

    def item(self, depth: int, aggregated: bool) -> str:
        text = self.aggregate() if aggregated and self.often(0.8) else self.expression()
        return f"{text} AS {self.choose('a', 'n', '`x y`', 'window', 'total')}" if self.often(0.4) else text

    def aggregate(self) -> str:
        name = self.choose(*aggregate_names())
        if self.sane and self.often(0.8):
            name = self.choose("count", "sum", "avg", "min", "max", "median", "first", "last", "stddev")
            return f"{name}({self.column()}){' ' + self.window() if not self.windowed and self.often(0.6) else ''}"
        arguments = self.choose(
            "*",
            "",
            self.column(),
            self.column(),
            self.column(),
            self.expression(2),
            f"DISTINCT {self.column()}",
            f"{self.column()}, {self.number()}",
            f"{self.column()}, {self.number()}, {self.number()}",
        )
        text = f"{name}({arguments})"
        text += f" FILTER (WHERE {self.predicate(DEEPEST)})" if self.often(0.08) else ""
        text += f" {self.window()}" if self.often(0.4) else ""
        return f"{text} + 1" if self.often(0.05) else text

    def source(self, depth: int) -> str:
        if depth < 2 and self.often(0.12):
            text = f"({self.query(depth + 1)})"
            alias = self.choose("q", "r")
            self.aliases.append(alias)
            return f"{text} AS {alias}{' ' + self.window() if self.often(0.4) else ''}"
        name = self.choose("s", "s", "s", "t", "u", "n", "tab", "rel", "missing" if self.often(0.1) else "s")
        if self.sane:
            name = self.choose(*[one for one in "stu" if one not in self.aliases] or ["tab"])
        window = f" {self.window()}" if (self.windowed if self.sane else self.often(0.55)) else ""
        if self.often(0.06) and not self.sane:
            name += f" UNION {self.choose('s', 't', 'u')}"
        if self.often(0.3):
            alias = self.choose("x", "y", "z")
            self.aliases.append(alias)
            return f"{name} AS {alias}{window}"
        self.aliases.append(name.split()[0])
        return name + window

    # -- windows

    def sane_window(self, joined: bool) -> str:
        """One that can stand beside others of its family."""
        length, step = self.quantity(), self.quantity()
        if self.with_ids and joined:
            return f"[RANGE {length}, WA ts]"
        if self.with_ids:
            return self.choose(
                f"[RANGE {length}, SLIDE {step}, WA ts]",
                f"[RANGE {length} SLIDE {length} WA ts]",
                f"[SESSION {length}, WA ts]",
                f"[RANGE {self.whole()} rows, SLIDE {self.whole()} rows, WA row-num]",
                f"[RANGE ALL, SLIDE {step}, WA ts]",
                "[CALENDAR 1 day, WA ts, ZONE 'Europe/Berlin']",
                f"[RANGE {length}, RATTR ts, SLIDE 2 rows, SATTR {self.choose('row-num', 'rank(ts)')}]",
                f"[RANGE {length}, SLIDE {step}, WA ts, PA k]",
                f"[RANGE {length}, SLIDE {step}, LAG {step}, WA ts]",
                f"[RANGE {length}, SLIDE {step}, WA ts, WHERE v > 1]",
            )
        return self.choose(
            f"[RANGE {length}]",
            f"[RANGE {length}]",
            f"[ROWS {self.whole()}]",
            "[NOW]",
            "[UNBOUNDED]",
            f"[RANGE {length} SLIDE {step}]",
            f"[RANGE TUMBLING {length}]",
            f"[PARTITION BY k ROWS {self.whole()}]",
            f"[WINDOW {length} SLIDE {step}]",
            f"[UNBOUNDED START AT {self.constant()}]",
            f"[RANGE {length} INTERNAL]",
            f"[RANGE {length} WHERE v > 1]",
            f"[ROWS {self.whole()} SLIDE 2 rows]",
            f"[RANGE TUMBLING {length} GROWING]",
            f"[UNBOUNDED END AT {self.constant()}]",
        )

    def window(self) -> str:
        if self.sane and self.often(0.9):
            return self.sane_window(len(self.aliases) > 1)
        random = self.random
        quantity = self.quantity
        extent = random.choice(
            (
                lambda: f"RANGE {quantity()}",
                lambda: f"RANGE {quantity()} SLIDE {quantity()}",
                lambda: f"RANGE {quantity()}, SLIDE {quantity()}",
                lambda: f"RANGE TUMBLING {quantity()}",
                lambda: f"ROWS {self.whole()}",
                lambda: f"ROWS {self.whole()} SLIDE {quantity()}",
                lambda: "NOW",
                lambda: f"RANGE {self.whole()} rows, SLIDE {self.whole()} rows, WA row-num",
                lambda: (
                    f"RANGE {quantity()}, RATTR ts, SLIDE {self.whole()} rows, "
                    f"SATTR {self.choose('row-num', 'rank(ts)')}"
                ),
                lambda: "UNBOUNDED",
                lambda: f"UNBOUNDED START AT {self.constant()}",
                lambda: f"UNBOUNDED END AT {self.constant()}",
                lambda: f"SESSION {quantity()}",
                lambda: f"CALENDAR {self.whole()} {self.choose('days', 'month', 'year', 'week')}",
                lambda: f"RANGE ALL SLIDE {quantity()}",
                lambda: f"WINDOW {quantity()} SLIDE {quantity()}",
                lambda: ":w",
            )
        )()
        clauses = [extent]
        for share, clause in (
            (0.45, lambda: f"WA {self.column()}" if self.often(0.2) else "WA ts"),
            (0.08, lambda: f"PA {self.column()}"),
            (0.05, lambda: f"LAG {quantity()}"),
            (0.05, lambda: f"ORIGIN {self.constant()}"),
            (0.04, lambda: "GROWING"),
            (0.06, lambda: "INTERNAL"),
            (0.05, lambda: f"WHERE {self.predicate(DEEPEST)}"),
            (0.03, lambda: f"ZONE {self.choose(chr(39) + 'Europe/Berlin' + chr(39), chr(39) + 'Nowhere' + chr(39))}"),
        ):
            if self.often(share):
                clauses.append(clause())
        return f"[{self.choose(' ', ', ').join(clauses)}]"

    def quantity(self) -> str:
        if self.sane:
            unit = self.choose("s", "seconds", "min", "minutes", "hour", "ms")
            return f"{self.choose('1', '2', '5', '10', '60')} {unit}"
        unit = self.choose(
            "ticks",
            "us",
            "ms",
            "s",
            "sec",
            "seconds",
            "min",
            "minutes",
            "hours",
            "days",
            "weeks",
            "",
            "rows",
            "month",
            "minute",
        )
        return f"{self.whole() if self.often(0.9) else self.number()} {unit}".strip()

    def whole(self) -> str:
        if self.sane:
            return self.choose("1", "2", "3", "5", "10", "100")
        return (
            self.choose("1", "2", "3", "5", "10", "60", "7", "100", "1000", "0", "-1", "9223372036854775807", ":n")
            if self.often(0.9)
            else self.number()
        )

    def number(self) -> str:
        return self.choose(
            "0",
            "1",
            "2",
            "0.5",
            "0.05",
            "-3",
            "1e3",
            "1e308",
            "1e309",
            "12345678901234567890",
            "1.5",
            "3L",
            "2.50BD",
            "1e-400",
            "0.1f",
            "9" * 39,
            "-9223372036854775808",
            "NULL",
        )

    def constant(self) -> str:
        if self.sane:
            return self.choose("'2026-01-01T07:00:00Z'", "'2026-01-01'")
        return self.choose(
            "'07:00:00'",
            "'2026-01-01T07:00:00Z'",
            "'2026-01-01'",
            "5",
            "-7",
            ":s",
            "'nonsense'",
            "TIMESTAMP '2026-01-01 00:00:00'",
            "'0001-01-01'",
            "'9999-12-31'",
        )

    # -- expressions

    def column(self) -> str:
        if self.sane:
            alias = f"{self.choose(*self.aliases)}." if len(self.aliases) > 1 else ""
            return alias + self.choose(*NUMERIC, "v", "v", "k")
        name = (
            self.choose(*COLUMNS)
            if self.often(0.97)
            else self.choose("nope", "window", "seg", "K", "`k`", "p.x", "p.z", "v.x")
        )
        if self.often(0.15) and self.aliases:
            return f"{self.choose(*self.aliases)}.{name}"
        return name

    def predicate(self, depth: int) -> str:
        if self.sane and self.often(0.8):
            columns = [f"{alias}.{self.choose('k', 'v')}" for alias in self.aliases or ("s",)]
            return self.choose(f"{columns[0]} = {columns[-1]}", f"{columns[0]} <> '1'", f"{columns[-1]} IS NOT NULL")
        text = self.choose(
            f"{self.column()} {self.choose('=', '<', '>', '<>', '<=>', '>=', '==', '!=')} {self.expression(3)}",
            f"{self.column()} = {self.column()}",
            f"{self.column()} IS {self.choose('NULL', 'NOT NULL', 'TRUE')}",
            f"{self.column()} LIKE {self.literal()}",
            f"{self.column()} RLIKE {self.literal()}",
            f"{self.column()} IN ({self.literal()}, {self.literal()})",
            self.expression(2),
            f"{self.column()} BETWEEN {self.literal()} AND {self.literal()}",
            "k = word",
        )
        if depth < 1 and self.often(0.1):
            text = f"{self.choose('', 'NOT ')}EXISTS ({self.select(depth + 1)})"
        if self.often(0.25):
            text += f" {self.choose('AND', 'AND', 'OR')} {self.predicate(depth + 1)}"
        return f"NOT ({text})" if self.often(0.05) else text

    def literal(self) -> str:
        return self.choose(
            self.number(),
            self.number(),
            "'a'",
            "'abc%'",
            "''",
            "'12'",
            "'[a-'",
            "TRUE",
            "NULL",
            "DATE '2026-01-31'",
            "TIMESTAMP '2026-01-31 12:00:00'",
            "INTERVAL '1' DAY",
            "INTERVAL 2 HOURS",
            "X'1F'",
            "'2026-02-30'",
            ":n",
            ":s",
            ":gone" if self.often(0.05) else "1",
            "array(1, 2)",
            "map('a', 1)",
            "named_struct('x', 1)",
        )

    def expression(self, depth: int = 1) -> str:
        if self.sane and self.often(0.7):
            return self.choose(
                self.column(),
                f"{self.column()} + 1",
                f"abs({self.column()})",
                f"upper({self.column()})",
                f"cast({self.column()} AS string)",
                f"coalesce({self.column()}, 0)",
                f"{self.column()} % 3",
            )
        if depth >= DEEPEST or self.often(0.3):
            return self.column() if self.often(0.65) else self.literal()
        inner = lambda: self.expression(depth + 1)  # noqa: E731
        random = self.random
        return random.choice(
            (
                lambda: (
                    f"{inner()} {self.choose(*OPERATORS)} {inner()}"
                ),
                lambda: (
                    f"{self.choose(*scalar_names())}"
                    f"({', '.join(inner() for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 4))))})"
                ),
                lambda: (
                    f"{self.choose(*scalar_names())}"
                    f"({', '.join(inner() for _ in range(random.choice((1, 1, 2, 2, 3))))})"
                ),
                lambda: f"cast({inner()} AS {self.type_name()})",
                lambda: f"try_cast({inner()} AS {self.type_name()})",
                lambda: f"{inner()}::{self.type_name()}",
                lambda: f"CASE WHEN {inner()} THEN {inner()} ELSE {inner()} END",
                lambda: f"CASE {inner()} WHEN {inner()} THEN {inner()} END",
                lambda: f"- {inner()}",
                lambda: f"({inner()})",
                lambda: f"{inner()}[{inner()}]",
                lambda: f"{self.column()}.x",
                lambda: f"extract({self.unit()} FROM {inner()})",
                lambda: f"{self.choose('transform', 'filter', 'exists', 'forall')}({inner()}, x -> {inner()})",
                lambda: f"aggregate({inner()}, {inner()}, (acc, x) -> acc + x)",
                lambda: f"if({inner()}, {inner()}, {inner()})",
                lambda: f"trim(BOTH {inner()} FROM {inner()})",
                lambda: f"timestampdiff({self.unit()}, {inner()}, {inner()})",
                lambda: f"date_add({inner()}, {inner()})",
                lambda: f"{self.choose('rand', 'uuid', 'explode', 'now', 'nosuch', 'window')}()",
                lambda: f"NOT {inner()}",
                lambda: f"{inner()} IS NOT DISTINCT FROM {inner()}",
            )
        )()

    def unit(self) -> str:
        return self.choose(
            "year", "YEAR", "month", "day", "hour", "second", "dow", "epoch", "week", "`year`", "'day'", "bogus"
        )

    def type_name(self) -> str:
        return self.choose(
            "int",
            "bigint",
            "string",
            "double",
            "float",
            "decimal(10,2)",
            "decimal(38,38)",
            "decimal(60,2)",
            "date",
            "timestamp",
            "timestamp_ntz",
            "boolean",
            "binary",
            "tinyint",
            "smallint",
            "array<int>",
            "map<string,int>",
            "struct<x:int>",
            "interval day to second",
            "interval",
            "void",
            "nonsense",
            "varchar(3)",
            "char(2)",
        )
