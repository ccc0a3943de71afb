"""Expression text and column types in, a typed function of one row out; nothing is left to decide when rows come."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as Number
from functools import lru_cache

from sqlglot import exp

from panewise.core.errors import SchemaError, UnsupportedError
from panewise.core.user_functions import known
from panewise.engines.oracle.scalar import arithmetic, calendars, logic, moments, nested, numbers, text, users
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.language import tree_of, type_of
from panewise.engines.oracle.scalar.signatures import FUNCTIONS
from panewise.engines.oracle.scalar.typed import NOTHING, MismatchError, Typed, constant, strict
from panewise.engines.oracle.scalar.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGRAL,
    LONG,
    MAX_PRECISION,
    MONTHS,
    NULL,
    STRING,
    DayTime,
    Opaque,
    Type,
    decimal,
)

__all__ = ["bind", "numbers"]

_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div"}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_BITWISE: dict[type[exp.Expr], str] = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^"}
_SHIFTS: dict[type[exp.Expr], str] = {exp.BitwiseLeftShift: "shiftleft", exp.BitwiseRightShift: "shiftright"}
_UNITS = {"DAY": calendars.DAY, "WEEK": 7 * calendars.DAY, "HOUR": calendars.HOUR, "MINUTE": calendars.MINUTE,
          "SECOND": calendars.SECOND, "MILLISECOND": 1_000, "MICROSECOND": 1}
_CASTS = {"boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INT", "bigint": "BIGINT",
          "float": "FLOAT", "double": "DOUBLE", "string": "STRING", "date": "DATE", "timestamp": "TIMESTAMP",
          "binary": "BINARY", "decimal": "DECIMAL(10, 0)"}


_LONG_SUM = 9
"""Operands from which on errors do not repeat the whole text of a sum."""
_WITH_UNIT = {"date_add", "dateadd", "datediff", "date_diff"}
"""With three arguments these are other functions, which take a unit."""


@lru_cache(maxsize=4096)
def _bound(sql: str, columns: tuple[tuple[str, Type], ...]) -> Typed:
    return _Binder(dict(columns)).bind(tree_of(sql))


def bind(sql: str, columns: Mapping[str, Type]) -> Typed:
    """The expression over columns of these types.

    >>> total = bind("price * 2 + 0.5", {"price": INT})
    >>> str(total.type), total.run({"price": 4})
    ('decimal(12,1)', Decimal('8.5'))
    """
    return _bound(sql, tuple(columns.items()))


class _Binder:
    """Binds one expression; ``variables`` are those of the lambdas around it."""

    def __init__(self, columns: Mapping[str, Type], variables: Mapping[str, Type] | None = None) -> None:
        self.columns, self.variables = columns, dict(variables or {})

    def bind(self, tree: exp.Expr) -> Typed:
        """The typed expression of a tree."""
        kind = type(tree)
        if kind in (exp.And, exp.Or):
            return self._chain(tree)
        if isinstance(tree, exp.Binary) and kind in _ARITHMETIC | _COMPARISONS | _BITWISE | _SHIFTS:
            return self._operator(tree)
        handler = _HANDLERS.get(kind)
        if handler is None:
            raise UnsupportedError(f"the oracle does not compute {tree.key} in {tree.sql(dialect='spark')}")
        found = handler(self, tree)
        return logic.opposite(found, self._sql(tree)) if tree.args.get("negate") else found

    def _sql(self, tree: exp.Expr) -> str:
        return tree.sql(dialect="spark")

    # -- operators ---------------------------------------------------------------------------------------------------

    def _operator(self, tree: exp.Binary) -> Typed:
        """Left-leaning chains are bound from their innermost operand on, however long they are."""
        chain: list[exp.Binary] = []
        node: exp.Expr = tree
        while isinstance(node, exp.Binary) and type(node) in _ARITHMETIC:
            chain.append(node)
            node = node.this
        left = self.bind(node) if chain else self.bind(tree.this)
        for step in reversed(chain or [tree]):
            right, kind = self.bind(step.expression), type(step)
            sql = self._sql(step) if len(chain) < _LONG_SUM else "a long sum"
            if kind in _ARITHMETIC:
                left = arithmetic.arithmetic(_ARITHMETIC[kind], left, right, sql)
            elif kind in _COMPARISONS:
                left = logic.compared(_COMPARISONS[kind], left, right, sql)
            elif kind in _BITWISE:
                left = arithmetic.bitwise(_BITWISE[kind], left, right, sql)
            else:
                left = arithmetic.shifted(_SHIFTS[kind], left, right, sql)
        return left

    def _chain(self, tree: exp.Expr) -> Typed:
        terms: list[exp.Expr] = []
        node = tree
        while type(node) is type(tree):
            terms.append(node.expression)
            node = node.this
        join = logic.both if isinstance(tree, exp.And) else logic.either
        found = [self.bind(term) for term in (node, *reversed(terms))]
        return _balanced(found, lambda left, right: join(left, right, "a condition"))

    def _not(self, tree: exp.Expr) -> Typed:
        return logic.opposite(self.bind(tree.this), self._sql(tree))

    def _negative(self, tree: exp.Expr) -> Typed:
        if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
            return _number(f"-{tree.this.this}")
        return arithmetic.negated(self.bind(tree.this), self._sql(tree))

    def _paren(self, tree: exp.Expr) -> Typed:
        return self.bind(tree.this)

    def _invert(self, tree: exp.Expr) -> Typed:
        item = self.bind(tree.this)
        if item.type not in INTEGRAL:
            raise MismatchError(f"{self._sql(tree)}: ~ takes whole numbers, not {item.type}")
        return strict(item.type, lambda value: ~value, [item], self._sql(tree))

    def _between(self, tree: exp.Expr) -> Typed:
        item, sql = self.bind(tree.this), self._sql(tree)
        low = logic.compared(">=", item, self.bind(tree.args["low"]), sql)
        return logic.both(low, logic.compared("<=", item, self.bind(tree.args["high"]), sql), sql)

    def _in(self, tree: exp.Expr) -> Typed:
        if not tree.expressions:
            raise UnsupportedError(f"the oracle does not compute {self._sql(tree)}: IN needs a list of values")
        return logic.among(self.bind(tree.this), [self.bind(item) for item in tree.expressions], self._sql(tree))

    def _is(self, tree: exp.Expr) -> Typed:
        item, other, sql = self.bind(tree.this), tree.expression, self._sql(tree)
        if isinstance(other, exp.Null):
            return logic.is_null(item, sql)
        if isinstance(other, exp.Boolean):
            return logic.is_truth(item, other.this, sql)
        raise UnsupportedError(f"the oracle does not compute {sql}")

    def _same(self, tree: exp.Expr) -> Typed:
        return logic.same(self.bind(tree.this), self.bind(tree.expression), self._sql(tree))

    def _different(self, tree: exp.Expr) -> Typed:
        return logic.opposite(self._same(tree), self._sql(tree))

    def _concatenated(self, tree: exp.Expr) -> Typed:
        parts = tree.expressions or [tree.this, tree.expression]
        return text.concatenated([self.bind(part) for part in parts], self._sql(tree))

    def _like(self, tree: exp.Expr, escape: str = "\\") -> Typed:
        if isinstance(tree.expression, exp.Any | exp.All):
            raise UnsupportedError(f"the oracle does not compute {self._sql(tree)}: write one LIKE for each pattern")
        return text.like(self.bind(tree.this), self.bind(tree.expression), escape, self._sql(tree),
                         folded=isinstance(tree, exp.ILike))

    def _escaped(self, tree: exp.Expr) -> Typed:
        found = self._like(tree.this, tree.expression.name)
        return logic.opposite(found, self._sql(tree)) if tree.this.args.get("negate") else found

    def _matches(self, tree: exp.Expr) -> Typed:
        return self._called("rlike", [tree.this, tree.expression], self._sql(tree))

    # -- choices -----------------------------------------------------------------------------------------------------

    def _case(self, tree: exp.Expr) -> Typed:
        sql = self._sql(tree)
        subject = None if tree.this is None else self.bind(tree.this)
        branches: list[tuple[Typed, Typed]] = []
        for branch in tree.args["ifs"]:
            test = self.bind(branch.this)
            branches.append((test if subject is None else logic.compared("=", subject, test, sql),
                             self.bind(branch.args["true"])))
        default = tree.args.get("default")
        return logic.cases(branches, None if default is None else self.bind(default), sql)

    def _if(self, tree: exp.Expr) -> Typed:
        no = tree.args.get("false")
        return logic.cases([(self.bind(tree.this), self.bind(tree.args["true"]))],
                           None if no is None else self.bind(no), self._sql(tree))

    def _cast(self, tree: exp.Expr) -> Typed:
        item, kind = self.bind(tree.this), type_of(tree.args["to"])
        if isinstance(item.type, Opaque):
            raise UnsupportedError(f"the oracle computes nothing with {item.type}: {self._sql(tree)}")
        try:
            return cast(item, kind, safe=bool(tree.args.get("safe")))
        except MismatchError as error:
            raise MismatchError(f"{self._sql(tree)}: {error}", error.condition) from error

    def _typed_literal(self, tree: exp.Expr) -> Typed:
        """DATE '2024-02-29' and TIMESTAMP '…'; text that is none is refused, as Spark's parser does."""
        kind = type_of(exp.DataType.build(tree.name, dialect="spark"))
        item = cast(self.bind(tree.expression), kind, safe=True)
        if item.value is None:
            raise MismatchError(f"{self._sql(tree)} is no {tree.name.lower()}", "INVALID_TYPED_LITERAL")
        return item

    # -- leaves ------------------------------------------------------------------------------------------------------

    def _literal(self, tree: exp.Expr) -> Typed:
        return constant(STRING, tree.this, self._sql(tree)) if tree.is_string else _number(tree.this)

    def _boolean(self, tree: exp.Expr) -> Typed:
        return constant(BOOLEAN, bool(tree.this), self._sql(tree))

    def _null(self, tree: exp.Expr) -> Typed:
        return NOTHING

    def _bytes(self, tree: exp.Expr) -> Typed:
        digits = str(tree.this)
        return constant(BINARY, bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}"), self._sql(tree))

    def _column(self, tree: exp.Expr) -> Typed:
        parts = [part.name for part in tree.parts] if isinstance(tree, exp.Column) else [tree.name]
        for split in range(len(parts), 0, -1):
            name = ".".join(parts[:split])
            if name in self.variables or name in self.columns:
                item = self._named(name)
                for field in parts[split:]:
                    item = nested.field_of(item, field, self._sql(tree))
                return item
        raise SchemaError(f"no column {parts[0]!r}; there are {', '.join(self.columns)}")

    def _identifier(self, tree: exp.Expr) -> Typed:
        return self._named(tree.name)

    def _named(self, name: str) -> Typed:
        if name in self.variables:
            key = f"<lambda {name}>"
            return Typed(self.variables[name], lambda row: row[key], name)
        if name not in self.columns:
            raise SchemaError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return Typed(self.columns[name], lambda row: row[name], name)

    def _dot(self, tree: exp.Expr) -> Typed:
        return nested.field_of(self.bind(tree.this), tree.expression.name, self._sql(tree))

    def _bracket(self, tree: exp.Expr) -> Typed:
        return nested.subscript(self.bind(tree.this), self.bind(tree.expressions[0]), self._sql(tree))

    def _interval(self, tree: exp.Expr) -> Typed:
        return _interval(tree, self._sql(tree))

    # -- calls -------------------------------------------------------------------------------------------------------

    def _anonymous(self, tree: exp.Expr) -> Typed:
        return self._called(str(tree.this).lower(), tree.expressions, self._sql(tree))

    def _transform(self, tree: exp.Expr) -> Typed:
        return self._called("transform", [tree.this, tree.expression], self._sql(tree))

    def _trim(self, tree: exp.Expr) -> Typed:
        chars = tree.expression
        return text.trim(tree.args.get("position") or "BOTH", self.bind(tree.this),
                         None if chars is None else self.bind(chars), self._sql(tree))

    def _substring(self, tree: exp.Expr) -> Typed:
        parts = [tree.this, tree.args.get("start"), tree.args.get("length")]
        return self._called("substring", [part for part in parts if part is not None], self._sql(tree))

    def _locate(self, tree: exp.Expr) -> Typed:
        parts = [tree.args.get("substr"), tree.this, tree.args.get("position")]
        return self._called("locate", [part for part in parts if part is not None], self._sql(tree))

    def _extract(self, tree: exp.Expr) -> Typed:
        return moments.extracted(tree.this.name, self.bind(tree.expression), self._sql(tree))

    def _called(self, name: str, arguments: Sequence[exp.Expr], sql: str) -> Typed:
        own = known(name)
        if own is not None:
            return users.called(own, [self.bind(item) for item in arguments], sql)
        if name in nested.HIGHER_ORDER and len(arguments) == 2 and isinstance(arguments[1], exp.Lambda):
            return self._mapped(name, arguments[0], arguments[1], sql)
        if name == "struct":
            parts = [(_field_name(item, i), item.unalias()) for i, item in enumerate(arguments, 1)]
            return nested.struct_of([(field, self.bind(item)) for field, item in parts], sql)
        if name in ("nullif", "nvl2", "isnull", "isnotnull"):
            return self._null_call(name, [self.bind(item) for item in arguments], sql)
        if name in _CASTS and len(arguments) == 1:
            return cast(self.bind(arguments[0]), type_of(exp.DataType.build(_CASTS[name], dialect="spark")))
        build = FUNCTIONS.get(name)
        if build is None or (name in _WITH_UNIT and len(arguments) == 3):
            raise UnsupportedError(f"the oracle has no function {name}: {sql}")
        found = [self.bind(item) for item in arguments]
        if any(isinstance(item.type, Opaque) for item in found):
            raise UnsupportedError(f"the oracle computes nothing with columns of such a type: {sql}")
        return build(found, sql)

    def _null_call(self, name: str, items: list[Typed], sql: str) -> Typed:
        match name, items:
            case "nullif", [left, right]:
                return logic.cases([(logic.compared("=", left, right, sql), constant(NULL, None))], left, sql)
            case "nvl2", [item, known, unknown]:
                return logic.cases([(logic.is_null(item, sql), unknown)], known, sql)
            case "isnull", [item]:
                return logic.is_null(item, sql)
            case "isnotnull", [item]:
                return logic.opposite(logic.is_null(item, sql), sql)
        raise MismatchError(f"{sql}: {name} does not take {len(items)} arguments", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION")

    def _mapped(self, name: str, array: exp.Expr, function: exp.Lambda, sql: str) -> Typed:
        names = [variable.name for variable in function.expressions]

        def body(types: Sequence[Type]) -> Typed:
            if len(names) > len(types):
                raise MismatchError(f"{sql}: the lambda has too many variables", "INVALID_LAMBDA_FUNCTION_CALL")
            inner = {**self.variables, **dict(zip(names, types, strict=True))}
            return _Binder(self.columns, inner).bind(function.this)

        return nested.mapped(name, self.bind(array), body, [f"<lambda {n}>" for n in names], sql)


def _balanced(items: list[Typed], join: Callable[[Typed, Typed], Typed]) -> Typed:
    """A long chain as a flat tree, so that its depth stays small; the order of the terms stays."""
    while len(items) > 1:
        items = [join(*items[i:i + 2]) if i + 1 < len(items) else items[i] for i in range(0, len(items), 2)]
    return items[0]


def _field_name(item: exp.Expr, position: int) -> str:
    if isinstance(item, exp.Alias):
        return str(item.alias)
    return item.name if isinstance(item, exp.Column | exp.Identifier) else f"col{position}"


def _number(digits: str) -> Typed:
    """A number as written: an int, a bigint, or a decimal of its own digits; with an exponent a double."""
    if re.fullmatch(r"-?\d+", digits):
        value = int(digits)
        for kind, bits in ((INT, 31), (LONG, 63)):
            if -(1 << bits) <= value < 1 << bits:
                return constant(kind, value, digits, literal=True)
    if "e" in digits.lower():
        if math.isinf(float(digits)):
            raise MismatchError(f"{digits} is beyond the range of double", "INVALID_NUMERIC_LITERAL_RANGE")
        return constant(DOUBLE, float(digits), digits)
    exact = Number(digits)
    scale = max(0, -int(exact.as_tuple().exponent))
    precision = max(len(exact.as_tuple().digits), scale)
    if precision > MAX_PRECISION:
        raise MismatchError(f"{digits} has more digits than a decimal", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION")
    return constant(decimal(precision, scale), exact, digits)


def _interval(tree: exp.Expr, sql: str) -> Typed:
    unit, amount = tree.args.get("unit"), tree.this
    written = amount.name if isinstance(amount, exp.Literal) else None
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    if written is None or not re.fullmatch(r"\s*[+-]?\d+(\.\d{1,9})?\s*", written):
        raise UnsupportedError(f"the oracle does not compute {sql}: write INTERVAL '<number>' <unit>")
    if name in ("YEAR", "MONTH", "QUARTER") and "." not in written:
        return constant(MONTHS, int(written) * {"YEAR": 12, "MONTH": 1, "QUARTER": 3}[name], sql)
    if name in _UNITS and ("." not in written or name == "SECOND"):
        at = {"DAY": 0, "WEEK": 0, "HOUR": 1, "MINUTE": 2}.get(name, 3)
        return constant(DayTime(start=at, end=at), int(Number(written.strip()) * _UNITS[name]), sql)
    raise UnsupportedError(f"the oracle does not compute {sql}")


_HANDLERS: dict[type[exp.Expr], Callable[[_Binder, exp.Expr], Typed]] = {
    exp.Not: _Binder._not, exp.Neg: _Binder._negative, exp.Paren: _Binder._paren, exp.BitwiseNot: _Binder._invert,
    exp.Between: _Binder._between, exp.In: _Binder._in, exp.Is: _Binder._is, exp.NullSafeEQ: _Binder._same,
    exp.NullSafeNEQ: _Binder._different, exp.DPipe: _Binder._concatenated, exp.Concat: _Binder._concatenated,
    exp.Like: _Binder._like, exp.ILike: _Binder._like, exp.Escape: _Binder._escaped, exp.RegexpLike: _Binder._matches,
    exp.Case: _Binder._case, exp.If: _Binder._if, exp.Cast: _Binder._cast, exp.TryCast: _Binder._cast,
    exp.Literal: _Binder._literal, exp.Boolean: _Binder._boolean, exp.Null: _Binder._null,
    exp.HexString: _Binder._bytes, exp.Column: _Binder._column, exp.Identifier: _Binder._identifier,
    exp.Dot: _Binder._dot, exp.Bracket: _Binder._bracket, exp.Interval: _Binder._interval,
    exp.Introducer: _Binder._typed_literal,
    exp.Anonymous: _Binder._anonymous, exp.Transform: _Binder._transform, exp.Trim: _Binder._trim,
    exp.Substring: _Binder._substring, exp.StrPosition: _Binder._locate, exp.Extract: _Binder._extract,
}
