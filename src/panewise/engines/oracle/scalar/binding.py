"""Expression text and column types in, a typed function of one row out; nothing is left to decide when rows come."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as Number
from functools import lru_cache, partial
from operator import itemgetter

from sqlglot import exp

from panewise.core.errors import SchemaError, UnsupportedError, shortened
from panewise.core.trees import operands, parse_expression
from panewise.core.user_functions import known
from panewise.engines.oracle.scalar import arithmetic, calendars, logic, moments, nested, numbers, text, users
from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.language import type_of
from panewise.engines.oracle.scalar.signatures import FUNCTIONS
from panewise.engines.oracle.scalar.typed import NOTHING, MismatchError, Typed, constant

__all__ = ["bind", "numbers"]

_BINARY: dict[type[exp.Expr], Callable[[Typed, Typed, str], Typed]] = {
    **{kind: partial(arithmetic.arithmetic, sign) for kind, sign in (
        (exp.Add, "+"), (exp.Sub, "-"), (exp.Mul, "*"), (exp.Div, "/"), (exp.Mod, "%"), (exp.IntDiv, "div"))},
    **{kind: partial(logic.compared, sign) for kind, sign in (
        (exp.EQ, "="), (exp.NEQ, "<>"), (exp.LT, "<"), (exp.LTE, "<="), (exp.GT, ">"), (exp.GTE, ">="))},
    **{kind: partial(arithmetic.bitwise, sign) for kind, sign in (
        (exp.BitwiseAnd, "&"), (exp.BitwiseOr, "|"), (exp.BitwiseXor, "^"))},
    exp.BitwiseLeftShift: partial(arithmetic.shifted, "shiftleft"),
    exp.BitwiseRightShift: partial(arithmetic.shifted, "shiftright"),
    exp.NullSafeEQ: logic.same,
    exp.NullSafeNEQ: lambda left, right, sql: logic.opposite(logic.same(left, right, sql), sql),
}
_CALLS: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Transform: ("transform", ("this", "expression")), exp.RegexpLike: ("rlike", ("this", "expression")),
    exp.Substring: ("substring", ("this", "start", "length")),
}
"""Syntax that is a call of a function, with the parts that are its arguments."""
_UNITS = {"DAY": calendars.DAY, "WEEK": 7 * calendars.DAY, "HOUR": calendars.HOUR, "MINUTE": calendars.MINUTE,
          "SECOND": calendars.SECOND, "MILLISECOND": 1_000, "MICROSECOND": 1}
_CASTS = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "date", "timestamp", "binary",
          "decimal")
_LONG_SUM = 9
"""Operands from which on errors do not repeat the whole text of a sum."""
_WITH_UNIT = {"date_add", "dateadd", "datediff", "date_diff"}
"""With three arguments these are other functions, which take a unit."""


@lru_cache(maxsize=4096)
def _bound(sql: str, columns: tuple[tuple[str, T.Type], ...]) -> Typed:
    return _Binder(dict(columns)).bind(parse_expression(sql))


def bind(sql: str, columns: Mapping[str, T.Type]) -> Typed:
    """The expression over columns of these types.

    >>> total = bind("price * 2 + 0.5", {"price": T.INT})
    >>> str(total.type), total.run({"price": 4})
    ('decimal(12,1)', Decimal('8.5'))
    """
    return _bound(sql, tuple(columns.items()))


class _Binder:
    """Binds one expression; ``variables`` are those of the lambdas around it."""

    def __init__(self, columns: Mapping[str, T.Type], variables: Mapping[str, T.Type] | None = None) -> None:
        self.columns, self.variables = columns, dict(variables or {})

    def bind(self, tree: exp.Expr) -> Typed:
        """The typed expression of a tree."""
        if isinstance(tree, exp.And | exp.Or):
            return self._chain(tree)
        if type(tree) in _BINARY:
            return self._operators(tree)
        sql = _sql(tree)
        found = self._bind(tree, sql)
        return logic.opposite(found, sql) if tree.args.get("negate") else found

    def _bind(self, tree: exp.Expr, sql: str) -> Typed:
        if type(tree) in _CALLS:
            name, parts = _CALLS[type(tree)]
            return self._called(name, [tree.args[part] for part in parts if tree.args.get(part) is not None], sql)
        match tree:
            case exp.Paren():
                return self.bind(tree.this)
            case exp.Literal():
                return constant(T.STRING, tree.this, sql) if tree.is_string else _number(tree.this)
            case exp.Boolean():
                return constant(T.BOOLEAN, bool(tree.this), sql)
            case exp.Null():
                return NOTHING
            case exp.HexString():
                digits = str(tree.this)
                return constant(T.BINARY, bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}"), sql)
            case exp.Column() | exp.Identifier():
                return self._column(tree, sql)
            case exp.Not():
                return logic.opposite(self.bind(tree.this), sql)
            case exp.Neg():
                if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
                    return _number(f"-{tree.this.this}")
                return arithmetic.negated(self.bind(tree.this), sql)
            case exp.BitwiseNot():
                return arithmetic.inverted(self.bind(tree.this), sql)
            case exp.Between():
                item = self.bind(tree.this)
                low = logic.compared(">=", item, self.bind(tree.args["low"]), sql)
                return logic.both(low, logic.compared("<=", item, self.bind(tree.args["high"]), sql), sql)
            case exp.In() if tree.expressions:
                return logic.among(self.bind(tree.this), self._all(tree.expressions), sql)
            case exp.Is(expression=exp.Null()):
                return logic.is_null(self.bind(tree.this), sql)
            case exp.Is(expression=exp.Boolean() as wanted):
                return logic.is_truth(self.bind(tree.this), wanted.this, sql)
            case exp.DPipe() | exp.Concat():
                return text.concatenated(self._all(tree.expressions or [tree.this, tree.expression]), sql)
            case exp.Like() | exp.ILike():
                return self._like(tree, sql)
            case exp.Escape():
                found = self._like(tree.this, sql, tree.expression.name)
                return logic.opposite(found, sql) if tree.this.args.get("negate") else found
            case exp.Case():
                return self._case(tree, sql)
            case exp.If():
                return logic.cases([(self.bind(tree.this), self.bind(tree.args["true"]))],
                                   self._perhaps(tree.args.get("false")), sql)
            case exp.Cast():
                return self._cast(tree, sql)
            case exp.Introducer():
                return self._typed_literal(tree, sql)
            case exp.Dot():
                return nested.field_of(self.bind(tree.this), tree.expression.name, sql)
            case exp.Bracket():
                return nested.subscript(self.bind(tree.this), self.bind(tree.expressions[0]), sql)
            case exp.Interval():
                return _interval(tree, sql)
            case exp.Trim():
                return text.trim(tree.args.get("position") or "BOTH", self.bind(tree.this),
                                 self._perhaps(tree.expression), sql)
            case exp.Extract():
                return moments.extracted(tree.this.name, self.bind(tree.expression), sql)
            case exp.Anonymous():
                return self._called(str(tree.this).lower(), tree.expressions, sql)
        raise UnsupportedError(f"the oracle does not compute {tree.key} in {sql}")

    def _all(self, trees: Sequence[exp.Expr]) -> list[Typed]:
        return [self.bind(tree) for tree in trees]

    def _perhaps(self, tree: exp.Expr | None) -> Typed | None:
        return None if tree is None else self.bind(tree)

    # -- operators ---------------------------------------------------------------------------------------------------

    def _operators(self, tree: exp.Expr) -> Typed:
        """Left-leaning chains are bound from their innermost operand on, however long they are."""
        chain: list[exp.Expr] = []
        while type(tree) in _BINARY:
            chain.append(tree)
            tree = tree.this
        left = self.bind(tree)
        for step in reversed(chain):
            sql = _sql(step) if len(chain) < _LONG_SUM else "a long sum"
            left = _BINARY[type(step)](left, self.bind(step.expression), sql)
        return left

    def _chain(self, tree: exp.And | exp.Or) -> Typed:
        """A chain of AND or OR as a flat tree, so that its depth stays small; the order of the terms stays."""
        kind, join = (exp.And, logic.both) if isinstance(tree, exp.And) else (exp.Or, logic.either)
        items = self._all(list(operands(tree, kind)))
        while len(items) > 1:
            items = [join(items[i], items[i + 1], "a condition") if i + 1 < len(items) else items[i]
                     for i in range(0, len(items), 2)]
        return items[0]

    def _like(self, tree: exp.Expr, sql: str, escape: str = "\\") -> Typed:
        if isinstance(tree.expression, exp.Any | exp.All):
            raise UnsupportedError(f"the oracle does not compute {sql}: write one LIKE for each pattern")
        return text.like(self.bind(tree.this), self.bind(tree.expression), escape, sql,
                         folded=isinstance(tree, exp.ILike))

    def _case(self, tree: exp.Expr, sql: str) -> Typed:
        subject = self._perhaps(tree.this)
        branches: list[tuple[Typed, Typed]] = []
        for branch in tree.args["ifs"]:
            test = self.bind(branch.this)
            branches.append((test if subject is None else logic.compared("=", subject, test, sql),
                             self.bind(branch.args["true"])))
        return logic.cases(branches, self._perhaps(tree.args.get("default")), sql)

    def _cast(self, tree: exp.Expr, sql: str) -> Typed:
        item, kind = self.bind(tree.this), type_of(tree.args["to"])
        if isinstance(item.type, T.Opaque):
            raise UnsupportedError(f"the oracle computes nothing with {item.type}: {sql}")
        try:
            return cast(item, kind, safe=bool(tree.args.get("safe")))
        except MismatchError as error:
            raise MismatchError(f"{sql}: {error}", error.condition) from error

    def _typed_literal(self, tree: exp.Expr, sql: str) -> Typed:
        """DATE '2024-02-29' and TIMESTAMP '…'; text that is none is refused, as Spark's parser does."""
        item = cast(self.bind(tree.expression), type_of(exp.DataType.build(tree.name, dialect="spark")), safe=True)
        if item.value is None:
            raise MismatchError(f"{sql} is no {tree.name.lower()}", "INVALID_TYPED_LITERAL")
        return item

    def _column(self, tree: exp.Expr, sql: str) -> Typed:
        """A variable of a lambda, a column, or a field of either."""
        parts = [part.name for part in tree.parts] if isinstance(tree, exp.Column) else [tree.name]
        for split in range(len(parts), 0, -1):
            name = ".".join(parts[:split])
            if name not in self.variables and name not in self.columns:
                continue
            key, kind = (f"<lambda {name}>", self.variables[name]) if name in self.variables else (
                name, self.columns[name])
            item = Typed(kind, itemgetter(key), name)
            for field in parts[split:]:
                item = nested.field_of(item, field, sql)
            return item
        raise SchemaError(f"no column {parts[0]!r}; there are {', '.join(self.columns)}")

    # -- calls -------------------------------------------------------------------------------------------------------

    def _called(self, name: str, arguments: Sequence[exp.Expr], sql: str) -> Typed:
        own = known(name)
        if own is not None:
            return users.called(own, self._all(arguments), sql)
        if name in nested.HIGHER_ORDER and len(arguments) == 2 and isinstance(arguments[1], exp.Lambda):
            return self._mapped(name, arguments[0], arguments[1], sql)
        if name == "struct":
            return nested.struct_of([(_field_name(item, i), self.bind(item.unalias()))
                                     for i, item in enumerate(arguments, 1)], sql)
        if name in _CASTS and len(arguments) == 1:
            return cast(self.bind(arguments[0]), type_of(exp.DataType.build(name, dialect="spark")))
        build = FUNCTIONS.get(name)
        if build is None or (name in _WITH_UNIT and len(arguments) == 3):
            raise UnsupportedError(f"the oracle has no function {name}: {sql}")
        found = self._all(arguments)
        if any(isinstance(item.type, T.Opaque) for item in found):
            raise UnsupportedError(f"the oracle computes nothing with columns of such a type: {sql}")
        return build(found, sql)

    def _mapped(self, name: str, array: exp.Expr, function: exp.Lambda, sql: str) -> Typed:
        names = [variable.name for variable in function.expressions]

        def body(types: Sequence[T.Type]) -> Typed:
            if len(names) > len(types):
                raise MismatchError(f"{sql}: the lambda has too many variables", "INVALID_LAMBDA_FUNCTION_CALL")
            return _Binder(self.columns, self.variables | dict(zip(names, types, strict=True))).bind(function.this)

        return nested.mapped(name, self.bind(array), body, [f"<lambda {n}>" for n in names], sql)


def _sql(tree: exp.Expr) -> str:
    return tree.sql(dialect="spark")


def _field_name(item: exp.Expr, position: int) -> str:
    if isinstance(item, exp.Alias):
        return str(item.alias)
    return item.name if isinstance(item, exp.Column | exp.Identifier) else f"col{position}"


def _number(digits: str) -> Typed:
    """A number as written: an int, a bigint, or a decimal of its own digits; with an exponent a double."""
    if re.fullmatch(r"-?\d+", digits):
        value = T.whole(digits)
        for kind in (T.INT, T.LONG):
            if T.in_range(value, kind):
                return constant(kind, value, digits, literal=True)
    if "e" in digits.lower():
        if math.isinf(float(digits)):
            raise MismatchError(f"{shortened(digits)} is beyond the range of double", "INVALID_NUMERIC_LITERAL_RANGE")
        return constant(T.DOUBLE, float(digits), digits)
    exact = Number(digits)
    scale = max(0, -int(exact.as_tuple().exponent))
    precision = max(len(exact.as_tuple().digits), scale)
    if precision > T.MAX_PRECISION:
        raise MismatchError(f"{shortened(digits)} has more digits than a decimal",
                            "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION")
    return constant(T.Decimal(precision, scale), exact, digits)


def _of_bits(amount: int, kind: T.Type, sql: str) -> int:
    """What an interval is kept as."""
    if not T.in_range(amount, kind):
        raise MismatchError(f"the interval {shortened(sql)} is too long", "INVALID_INTERVAL_FORMAT")
    return amount


def _interval(tree: exp.Expr, sql: str) -> Typed:
    unit, amount = tree.args.get("unit"), tree.this
    written = amount.name if isinstance(amount, exp.Literal) else ""
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    if re.fullmatch(r"\s*[+-]?\d+(\.\d{1,9})?\s*", written):
        if name in ("YEAR", "MONTH", "QUARTER") and "." not in written:
            months = T.whole(written.strip()) * {"YEAR": 12, "MONTH": 1, "QUARTER": 3}[name]
            return constant(T.MONTHS, _of_bits(months, T.INT, sql), sql)
        if name in _UNITS and ("." not in written or name == "SECOND"):
            at = {"DAY": 0, "WEEK": 0, "HOUR": 1, "MINUTE": 2}.get(name, 3)
            micros = int(Number(written.strip()) * _UNITS[name])
            return constant(T.DayTime(start=at, end=at), _of_bits(micros, T.LONG, sql), sql)
    raise UnsupportedError(f"the oracle does not compute {sql}: write INTERVAL '<number>' <unit>")
