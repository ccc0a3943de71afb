"""Syntax to typed expressions: literals, columns, operators, calls; what has no meaning is refused at its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyarrow import types as t
from sqlglot import exp

from panewise.core.errors import EvaluationError, PanewiseError, SchemaError, shortened
from panewise.core.user_functions import known
from panewise.functions import logic
from panewise.functions.binding import library  # noqa: F401 -- the library declares the functions
from panewise.functions.binding.bound import Bound, Call, ColumnOf, Constant, Lambda, Lazy, Parameter
from panewise.functions.binding.coercion import cast_all, chosen
from panewise.functions.binding.frame import Frame
from panewise.functions.binding.literals import number, span_from_syntax, type_from_syntax
from panewise.functions.binding.registry import declarations, operator_of, special_of
from panewise.functions.binding.spans import Span, joined
from panewise.functions.binding.users import user_call
from panewise.functions.casts import cast_bound
from panewise.functions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    renamed,
    spark_type,
    type_name,
    wider,
    widest,
)

BINARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "div", exp.Mod: "%",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.RegexpLike: "rlike", exp.DPipe: "concat",
}
"""Operators that are functions of two arguments, by the name they have in the registry."""


class TypingError(SchemaError):
    """An expression without a type: a function that is not there, arguments it does not take."""

    def __init__(self, problem: str, tree: exp.Expr, hint: str = "") -> None:
        super().__init__(f"{problem}{f': {hint}' if hint else ''}")
        self.problem, self.tree, self.hint = problem, tree, hint


class Binder:
    """Binds expressions over columns of known types."""

    def __init__(self, columns: Mapping[str, pa.DataType], zone: str) -> None:
        self.columns, self.zone = columns, zone
        self.parameters: dict[str, pa.DataType] = {}
        self._known: dict[exp.Expr, Bound] = {}

    def bind(self, tree: exp.Expr) -> Bound:
        """The typed expression."""
        if isinstance(tree, exp.And | exp.Or):
            return self._chain(tree)
        if self.parameters:  # inside a lambda the same text may mean another parameter
            return self._bound(tree)
        found = self._known.get(tree)
        if found is None:
            found = self._known[tree] = self._bound(tree)
        return found

    def _bound(self, tree: exp.Expr) -> Bound:
        operator = BINARY_OPERATORS.get(type(tree))
        if operator is not None:
            return self.call(operator, [self.bind(tree.this), self.bind(tree.expression)], tree)
        for kind in type(tree).__mro__:
            bind = _SYNTAX.get(kind)
            if bind is not None:
                return bind(self, tree)
        raise self.error(f"{shortened(tree.sql(dialect='spark'))} cannot stand in an expression", tree)

    def error(self, problem: str, tree: exp.Expr, hint: str = "") -> TypingError:
        """An error at a part of the expression."""
        return TypingError(problem, tree, hint)

    @contextmanager
    def _taking(self, name: str, tree: exp.Expr) -> Iterator[None]:
        """Forms that bind themselves take their arguments apart: too few, too many or others are refused here."""
        try:
            yield
        except (TypeError, ValueError, LookupError, AttributeError, pa.ArrowException) as error:
            if isinstance(error, PanewiseError):
                raise
            raise self.error(f"{name} does not take these arguments", tree, self._usage(name)) from error

    # -- making nodes ----------------------------------------------------------------------------------------------

    def call(self, name: str, arguments: Sequence[Bound], tree: exp.Expr, **options: Any) -> Bound:
        """A declared function on bound arguments, cast as they must be."""
        together = operator_of(name)
        if together is not None:
            with self._taking(name, tree):
                return together(self, list(arguments), tree)
        found = chosen(declarations(name), [a.type for a in arguments])
        if found is None:
            given = ", ".join(type_name(a.type) for a in arguments) or "no argument"
            raise self.error(f"{name} does not take {shortened(given, 200)}", tree, self._usage(name))
        function, targets = found
        for i in sorted(function.constants):
            if i < len(arguments) and not arguments[i].constant:
                raise self.error(f"argument {i + 1} of {name} must be a constant", tree)
        try:
            cast = cast_all(arguments, targets, self.zone)
            gives = function.gives if isinstance(function.gives, pa.DataType) else \
                function.gives(*(a.type for a in cast))
        except TypeError as error:
            raise self.error(f"{name}: {error}", tree) from error
        problem = None if function.check is None else function.check(cast)
        if problem is not None:
            raise self.error(f"{name}: {problem}", tree)
        return self.made(gives, tree, cast, function.run, function.needs_here, function.arrays, options,
                         strict=not function.variadic)

    def made(self, gives: pa.DataType, tree: exp.Expr, arguments: Sequence[Bound], run: Callable[..., Any],
             needs_here: bool = True, needs_arrays: bool = False, options: dict[str, Any] | None = None,
             strict: bool = False, order: tuple[int, ...] = (), span: Span | None = None) -> Bound:
        """A call of a Python function on arguments that have their types already."""
        return self.folded(Call(gives, tree, tuple(arguments), run, self.zone, needs_here, needs_arrays, options or {},
                                strict or bool(order), order, span=span))

    def folded(self, call: Bound) -> Bound:
        """A constant where a call has nothing but constants; one that fails stays, and fails on the first row."""
        if isinstance(call, Constant) or call.columns or not all(isinstance(c, Constant) for c in call.children):
            return call
        try:
            value = call.compute(Frame({}, 1))
        except EvaluationError:
            return call
        return Constant(call.type, call.tree, value if isinstance(value, pa.Scalar) else value[0], span=call.span)

    def cast(self, bound: Bound, to: pa.DataType) -> Bound:
        """A bound expression in another type."""
        try:
            return cast_bound(bound, to, self.zone)
        except TypeError as error:
            raise self.error(str(error), bound.tree) from error

    def together(self, parts: Sequence[Bound], tree: exp.Expr) -> tuple[Bound, ...]:
        """Branches in the type they have in common."""
        common = widest([part.type for part in parts])
        if common is None:
            types = ", ".join(dict.fromkeys(type_name(part.type) for part in parts))
            raise self.error(f"the values have no common type: {shortened(types, 200)}", tree, "cast them to one")
        return tuple(self.cast(part, common) for part in parts)

    def condition(self, tree: exp.Expr) -> Bound:
        """An expression that must be true or false."""
        found = self.bind(tree)
        if found.type not in (BOOLEAN, VOID, STRING):
            raise self.error(f"{shortened(found.sql)} is {type_name(found.type)}, and a condition must be true or "
                             "false", tree)
        return self.cast(found, BOOLEAN)

    @staticmethod
    def _usage(name: str) -> str:
        takes = []
        for function in declarations(name):
            names = [p.name if not isinstance(p, pa.DataType) else type_name(p) for p in function.takes]
            for i in range(len(names) - function.optional, len(names)):
                names[i] = f"[{names[i]}]"
            takes.append(f"{name}({', '.join(names)}{', …' if function.variadic else ''})")
        return f"it takes {' or '.join(dict.fromkeys(takes))}" if takes else ""

    # -- syntax ----------------------------------------------------------------------------------------------------

    def _chain(self, tree: exp.And | exp.Or) -> Bound:
        parts = tuple(self.condition(part) for part in terms(tree))
        return Lazy(BOOLEAN, tree, parts, logic.conjunction if isinstance(tree, exp.And) else logic.disjunction)

    def literal(self, tree: exp.Literal) -> Bound:
        """Text or a number."""
        if tree.is_string:
            return Constant(STRING, tree, pa.scalar(tree.this, STRING))
        value = number(str(tree.this))
        if value is None:
            raise self.error(f"the number {shortened(tree.this)} has more than 38 digits", tree)
        if value.type == DOUBLE and math.isinf(value.as_py()):
            raise self.error(f"the number {shortened(tree.this)} is beyond the range of double", tree)
        return Constant(value.type, tree, value)

    def negative(self, tree: exp.Neg) -> Bound:
        """A minus before a number belongs to the number: -2147483648 is an INT."""
        if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
            value = number("-" + str(tree.this.this))
            if value is not None:
                return Constant(value.type, tree, value)
        return self.call("negative", [self.bind(tree.this)], tree)

    def column(self, tree: exp.Column) -> Bound:
        """A column of the input, or a field of one."""
        parts = [part.name for part in tree.parts]
        for split in range(len(parts), 0, -1):
            found = self._named(".".join(parts[:split]), tree)
            if found is not None:
                for field in parts[split:]:
                    found = self.field(found, field, tree)
                return found
        names = shortened(", ".join(self.columns), 300)
        raise self.error(f"no column {'.'.join(parts)!r}; there are {names}", tree)

    def _named(self, name: str, tree: exp.Expr) -> Bound | None:
        if name in self.parameters:
            return Parameter(self.parameters[name], tree, name)
        if name not in self.columns:
            alike = [known for known in self.columns if known.lower() == name.lower()]
            if len(alike) != 1:
                return None
            name = alike[0]
        found = spark_type(self.columns[name])
        if found is None:
            raise self.error(f"column {name!r} is {self.columns[name]}, which Spark has no type for", tree)
        return ColumnOf(found, tree, name)

    def identifier(self, tree: exp.Identifier) -> Bound:
        """A parameter of a lambda, or a column."""
        found = self._named(tree.name, tree)
        if found is None:
            raise self.error(f"no column {tree.name!r}", tree)
        return found

    def field(self, base: Bound, name: str, tree: exp.Expr) -> Bound:
        """A field of a struct, or the value of a key of a map."""
        if t.is_map(base.type):
            return self.call("_value_of_key", [base, Constant(STRING, tree, pa.scalar(name, STRING))], tree)
        if t.is_list(base.type) and t.is_struct(base.type.value_type):
            return self._field_of(base, base.type.value_type, name, tree, "_field_of_all")
        if not t.is_struct(base.type):
            raise self.error(f"{shortened(base.sql)} is {type_name(base.type)} and has no field {name!r}", tree)
        return self._field_of(base, base.type, name, tree, "_field")

    def _field_of(self, base: Bound, struct: pa.StructType, name: str, tree: exp.Expr, function: str) -> Bound:
        names = [f.name for f in struct]
        alike = [i for i, known in enumerate(names) if known == name] or \
            [i for i, known in enumerate(names) if known.lower() == name.lower()]
        if len(alike) != 1:
            raise self.error(f"no field {name!r}; there are {shortened(', '.join(names), 300)}", tree)
        inner = struct.field(alike[0]).type
        run = declarations(function)[0].run
        gives = inner if function == "_field" else pa.list_(inner)
        return self.folded(Call(gives, tree, (base,), run, self.zone, options={"index": alike[0]}))

    def bracket(self, tree: exp.Bracket) -> Bound:
        """An element of an array (0-based), the value of a key, or a field."""
        base = self.bind(tree.this)
        (key,) = tree.expressions
        if t.is_struct(base.type) or (t.is_list(base.type) and t.is_struct(base.type.value_type)
                                      and isinstance(key, exp.Literal) and key.is_string):
            if not isinstance(key, exp.Literal):
                raise self.error("the name of a field must be written as text", tree)
            return self.field(base, key.name, tree)
        return self.call("_value_of_key" if t.is_map(base.type) else "_element", [base, self.bind(key)], tree)

    def dot(self, tree: exp.Dot) -> Bound:
        """A field behind a dot."""
        return self.field(self.bind(tree.this), tree.expression.name, tree)

    def cast_syntax(self, tree: exp.Cast) -> Bound:
        """CAST, TRY_CAST, ``::`` and typed literals such as DATE '2020-02-29'."""
        to = type_from_syntax(tree.to)
        if to is None:
            raise self.error(f"no type {shortened(tree.to.sql(dialect='spark'))}", tree)
        value = self.bind(tree.this)
        try:
            found = cast_bound(value, to, self.zone, tree=tree, span=span_from_syntax(tree.to),
                               failing=not (isinstance(tree, exp.TryCast) and bool(tree.args.get("safe"))))
        except TypeError as error:
            raise self.error(str(error), tree) from error
        return self.folded(found)

    def typed_literal(self, tree: exp.Introducer) -> Bound:
        """DATE '2024-02-29', TIMESTAMP '…': text that is none is refused, wherever it stands."""
        to = {"DATE": DATE, "TIMESTAMP": TIMESTAMP, "TIMESTAMP_NTZ": TIMESTAMP_NTZ}[tree.name]
        found = cast_bound(self.bind(tree.expression), to, self.zone, tree=tree)
        if not isinstance(found, Constant):
            raise self.error(f"{shortened(tree.sql(dialect='spark'))} is no {tree.name.lower()}", tree)
        return found

    def case(self, tree: exp.Case) -> Bound:
        """CASE with or without a value to compare."""
        conditions, values = [], []
        for branch in tree.args["ifs"]:
            if tree.this is not None:
                conditions.append(self._equal(self.bind(tree.this), self.bind(branch.this), branch))
            else:
                conditions.append(self.condition(branch.this))
            values.append(self.bind(branch.args["true"]))
        default = tree.args.get("default")
        values.append(Constant(VOID, tree, pa.scalar(None)) if default is None else self.bind(default))
        return self.branches(conditions, values, tree)

    def branches(self, conditions: Sequence[Bound], values: Sequence[Bound], tree: exp.Expr) -> Bound:
        """The value of the first condition that holds, else the last one."""
        *chosen_values, default = self.together(values, tree)
        parts = [part for pair in zip(conditions, chosen_values, strict=True) for part in pair]
        return Lazy(default.type, tree, (*parts, default), logic.branches, span=joined([*chosen_values, default]))

    def if_syntax(self, tree: exp.If) -> Bound:
        """IF(condition, value, else)."""
        default = tree.args.get("false")
        other = Constant(VOID, tree, pa.scalar(None)) if default is None else self.bind(default)
        return self.branches([self.condition(tree.this)], [self.bind(tree.args["true"]), other], tree)

    def _equal(self, one: Bound, other: Bound, tree: exp.Expr) -> Bound:
        return self.call("=", [one, other], tree)

    def comparable(self, pair: Sequence[Bound], tree: exp.Expr) -> list[Bound]:
        """Two operands in one type."""
        one, other = pair
        common = wider(one.type, renamed(other.type, one.type))
        if common is None:
            raise self.error(f"{type_name(one.type)} cannot be compared with {type_name(other.type)}", tree,
                             "cast one of them")
        return [self.cast(one, common), self.cast(other, common)]

    def in_list(self, tree: exp.In) -> Bound:
        """IN over a list of values."""
        if tree.args.get("query") is not None or tree.args.get("unnest") is not None:
            raise self.error("IN takes a list of values here", tree)
        return self.call("in", [self.bind(tree.this), *map(self.bind, tree.expressions)], tree)

    def between(self, tree: exp.Between) -> Bound:
        """Two comparisons."""
        value, low, high = (self.bind(tree.args[part]) for part in ("this", "low", "high"))
        parts = (self.call(">=", [value, low], tree), self.call("<=", [value, high], tree))
        return Lazy(BOOLEAN, tree, parts, logic.conjunction)

    def is_syntax(self, tree: exp.Is) -> Bound:
        """IS NULL, IS TRUE, IS FALSE."""
        value = self.bind(tree.this)
        if isinstance(tree.expression, exp.Null):
            return self.call("isnull", [value], tree)
        if isinstance(tree.expression, exp.Boolean):
            name = "_istrue" if tree.expression.this else "_isfalse"
            return self.call(name, [self.cast(value, BOOLEAN)], tree)
        raise self.error("IS takes NULL, TRUE or FALSE", tree)

    def distinct_from(self, tree: exp.NullSafeNEQ) -> Bound:
        """IS DISTINCT FROM."""
        same = self.call("<=>", [self.bind(tree.this), self.bind(tree.expression)], tree)
        return self.call("not", [same], tree)

    def like(self, tree: exp.Like | exp.ILike, escape: exp.Expr | None = None) -> Bound:
        """[NOT] [I]LIKE a pattern, or ANY or ALL of several."""
        patterns = tree.expression
        several = isinstance(patterns, exp.Any | exp.All)
        name = "like" if isinstance(tree, exp.Like) else "ilike"
        ends = [] if escape is None else [self.bind(escape)]
        found = [self.call(name, [self.bind(tree.this), self.bind(pattern), *ends], tree)
                 for pattern in (patterns.this.unnest().expressions if several else [patterns])]
        if tree.args.get("negate"):
            found = [self.call("not", [one], tree) for one in found]
        if not several:
            return found[0]
        return Lazy(BOOLEAN, tree, tuple(found),
                    logic.conjunction if isinstance(patterns, exp.All) else logic.disjunction)

    def escape(self, tree: exp.Escape) -> Bound:
        """LIKE with an escape character."""
        if not isinstance(tree.this, exp.Like | exp.ILike):
            raise self.error("ESCAPE belongs to LIKE", tree)
        return self.like(tree.this, tree.expression)

    def anonymous(self, tree: exp.Anonymous) -> Bound:
        """A call by name."""
        return self.named_call(tree.name.lower(), list(tree.expressions), tree)

    def named_call(self, name: str, arguments: Sequence[exp.Expr], tree: exp.Expr) -> Bound:
        """A call by name, with its arguments as they were written."""
        own = known(name)
        if own is not None:
            return user_call(own, [self.bind(argument) for argument in arguments], tree, self.zone)
        binds_itself = special_of(name)
        if binds_itself is not None:
            with self._taking(name, tree):
                return binds_itself(self, tree, arguments)
        if not declarations(name) and operator_of(name) is None:
            raise self.error(f"the function {name} is not there in process", tree)
        return self.call(name, [self.bind(argument) for argument in arguments], tree)

    def lambda_of(self, tree: exp.Expr, types: Sequence[pa.DataType]) -> Lambda:
        """A lambda whose parameters have these types; it may take fewer than are offered."""
        if not isinstance(tree, exp.Lambda):
            raise self.error("a lambda must stand here", tree, "write x -> expression")
        names = [parameter.name for parameter in tree.expressions]
        if len(names) > len(types):
            raise self.error(f"the lambda has {len(names)} parameters, {len(types)} are given", tree)
        outer = self.parameters
        self.parameters = {**outer, **dict(zip(names, types, strict=False))}
        try:
            body = self.bind(tree.this)
        finally:
            self.parameters = outer
        return Lambda(body.type, tree, tuple(names), body)


def terms(tree: exp.And | exp.Or) -> Iterator[exp.Expr]:
    """The parts of a chain of one operator, left to right, however it is nested."""
    waiting: list[exp.Expr] = [tree]
    while waiting:
        part = waiting.pop()
        while isinstance(part, exp.Paren) and isinstance(part.this, type(tree)):
            part = part.this
        if type(part) is type(tree):
            waiting.extend((part.expression, part.this))
        else:
            yield part


_SYNTAX: dict[type, Callable[[Binder, Any], Bound]] = {
    exp.Literal: Binder.literal,
    exp.RawString: lambda b, tree: Constant(STRING, tree, pa.scalar(tree.this, STRING)),
    exp.HexString: lambda b, tree: Constant(pa.binary(), tree, pa.scalar(bytes.fromhex(tree.this.zfill(
        len(tree.this) + len(tree.this) % 2)), pa.binary())),
    exp.Boolean: lambda b, tree: Constant(BOOLEAN, tree, pa.scalar(bool(tree.this), BOOLEAN)),
    exp.Null: lambda b, tree: Constant(VOID, tree, pa.scalar(None)),
    exp.Paren: lambda b, tree: b.bind(tree.this),
    exp.Neg: Binder.negative,
    exp.Not: lambda b, tree: b.call("not", [b.condition(tree.this)], tree),
    exp.BitwiseNot: lambda b, tree: b.call("~", [b.bind(tree.this)], tree),
    exp.Column: Binder.column,
    exp.Identifier: Binder.identifier,
    exp.Bracket: Binder.bracket,
    exp.Dot: Binder.dot,
    exp.Cast: Binder.cast_syntax,
    exp.Case: Binder.case,
    exp.If: Binder.if_syntax,
    exp.In: Binder.in_list,
    exp.Between: Binder.between,
    exp.Is: Binder.is_syntax,
    exp.NullSafeNEQ: Binder.distinct_from,
    exp.Like: Binder.like,
    exp.ILike: Binder.like,
    exp.Escape: Binder.escape,
    exp.Anonymous: Binder.anonymous,
    exp.Concat: lambda b, tree: b.named_call("concat", tree.expressions, tree),
    exp.Extract: lambda b, tree: b.named_call("date_part", [exp.Literal.string(tree.this.name), tree.expression],
                                              tree),
    exp.Substring: lambda b, tree: b.named_call(
        "substring", [part for n in ("this", "start", "length") if (part := tree.args.get(n)) is not None], tree),
    exp.StrPosition: lambda b, tree: b.named_call("locate", [tree.args["substr"], tree.this], tree),
    exp.Overlay: lambda b, tree: b.named_call(
        "overlay", [part for n in ("this", "expression", "from_", "for_") if (part := tree.args.get(n)) is not None],
        tree),
    exp.Trim: lambda b, tree: b.named_call(
        {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(tree.args.get("position")), "trim"),
        ([tree.this] if tree.expression is None else [tree.expression, tree.this]), tree),
    exp.Interval: lambda b, tree: b.named_call("_interval", [tree], tree),
    exp.Introducer: Binder.typed_literal,
}
