"""``:name`` parameters: values that go into the plan as values and are never read as query text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from panewise.core.errors import PlanError, QuantityError, SqlError
from panewise.core.time import Day, Quantity
from panewise.sql.hints import did_you_mean, listed
from panewise.sql.syntax import Parameter


@dataclass
class DeclaredDay:
    """The day of bare times of day, shared by a text and the windows that it takes as parameters."""

    day: Day | None
    asked: bool = False

    def get(self) -> Day | None:
        """The day, for a time of day that was found."""
        self.asked = True
        return self.day

    def check_asked(self) -> None:
        """A day that no time of day needs is a mistake."""
        if self.day is not None and not self.asked:
            raise PlanError(f"day={str(self.day)!r} is given, but the query has no time of day: leave it out")


class Parameters:
    """The values given for one query text."""

    def __init__(self, text: str, values: Mapping[str, object] | None, days: DeclaredDay | None = None,
                 zone: str = "UTC") -> None:
        self._text, self._values = text, dict(values or {})
        self.days = days or DeclaredDay(None)
        self.zone = zone

    def check(self, used: Sequence[Parameter]) -> None:
        """Every parameter has a value and every value a parameter."""
        for parameter in used:
            self.value(parameter)
        names = {p.name for p in used}
        for name in self._values:
            if name not in names:
                where = used[0].span if used else None
                raise SqlError(
                    f"the query has no parameter :{name}", text=self._text, start=where.start if where else 0,
                    end=where.end if where else len(self._text.split("\n")[0]),
                    hint=did_you_mean(name, names, f"its parameters are {listed(':' + n for n in sorted(names))}"
                                      if names else f"write :{name} where the value belongs, or do not give it"),
                )

    def value(self, parameter: Parameter) -> object:
        """What was given for a parameter."""
        if parameter.name not in self._values:
            unused = did_you_mean(parameter.name, self._values)
            raise self.error(parameter, f"no value for the parameter :{parameter.name}",
                             unused or f"give one: params={{{parameter.name!r}: ...}}")
        return self._values[parameter.name]

    def literal(self, parameter: Parameter) -> exp.Expr:
        """The value as a constant of a scalar expression."""
        value = self.value(parameter)
        if isinstance(value, datetime):
            return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "timestamp")
        if isinstance(value, date):
            return exp.cast(exp.Literal.string(value.isoformat()), "date")
        if isinstance(value, timedelta):
            micros = value // timedelta(microseconds=1)
            return exp.Interval(this=exp.Literal.string(str(micros)), unit=exp.Var(this="MICROSECOND"))
        if isinstance(value, Decimal):
            return exp.cast(exp.Literal.string(str(value)), f"decimal({_precision(value)})")
        if value is None or isinstance(value, bool | int | str):
            return exp.convert(value)
        if isinstance(value, float):
            return exp.cast(exp.Literal.string(repr(value)), "double")
        raise self.error(parameter, f"the value of :{parameter.name} is a {type(value).__name__}",
                         "give a number, a string, a boolean, a date, a datetime, a timedelta or None")

    def quantity(self, parameter: Parameter) -> Quantity:
        """The value as a RANGE, SLIDE or the like."""
        value = self.value(parameter)
        if isinstance(value, bool) or not isinstance(value, str | int | timedelta | Quantity):
            raise self.error(parameter, f"the value of :{parameter.name} is a {type(value).__name__}, not a quantity",
                             "give text such as '10 minutes', a timedelta, or an integer of ticks")
        try:
            return Quantity.parse(value)
        except QuantityError as error:
            raise self.error(parameter, f"parameter :{parameter.name}: {error}",
                             "give text such as '10 minutes', a timedelta, or an integer of ticks") from error

    def error(self, parameter: Parameter, problem: str, hint: str) -> SqlError:
        """An error at the parameter."""
        return SqlError(problem, text=self._text, start=parameter.span.start, end=parameter.span.end, hint=hint)


def _precision(value: Decimal) -> str:
    """``precision, scale`` of a decimal.

    >>> _precision(Decimal("12.340")), _precision(Decimal("0.001"))
    ('5, 3', '3, 3')
    """
    _, digits, exponent = value.as_tuple()
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    return f"{max(len(digits), scale)}, {scale}"
