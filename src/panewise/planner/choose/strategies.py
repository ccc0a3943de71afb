"""``strategy=``: how a user wants a query to run, instead of the way the planner would choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from panewise.core.errors import PlanError, QuantityError
from panewise.core.names import unknown_name
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import Quantity
from panewise.kernels.catalog import Entry, Option
from panewise.plan.physical import STYLES, Style

Given: TypeAlias = "Strategy | str | Mapping[str, Any]"
"""A name, text with options, or a mapping."""


@dataclass(frozen=True)
class Strategy:
    """The kernel of window aggregates with its options, and the style of relations."""

    kernel: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    style: Style = Style.UPA
    of_relations: bool = False
    """Whether a style is asked for."""

    @classmethod
    def parse(cls, given: Given) -> Strategy:
        """By name, as text with options, or as a mapping.

        >>> Strategy.parse("buffering: slack=100, differential")
        Strategy(kernel='buffering', options={'slack': '100', 'differential': True}, style=<Style.UPA: 'upa'>, \
of_relations=False)
        >>> Strategy.parse({"kernel": "wid", "style": "direct"}).style
        <Style.DIRECT: 'direct'>
        """
        if isinstance(given, Strategy):
            return given
        options = dict(_written(given) if isinstance(given, str) else given)
        name, style = str(options.pop("kernel", "auto")), options.pop("style", None)
        if style is None and name in STYLES:
            name, style = "auto", name
        if options and name == "auto":
            raise PlanError(f"strategy={given!r} has options and names no kernel: say whose they are, such as "
                            "{'kernel': 'buffering', 'slack': 100}, as text 'buffering: slack=100'")
        return cls(name, options, Style.parse(style or Style.UPA), style is not None)

    def options_of(self, entry: Entry, ordinal: OrdinalKind) -> dict[str, Any]:
        """The options in the types the kernel takes; amounts are of the windowing attribute."""
        known = entry.options
        for name in self.options:
            if name not in known:
                raise PlanError(f"strategy {entry.name!r}: {unknown_name('option', name, known)}")
        return {name: _value(entry.name, known[name], value, ordinal) for name, value in self.options.items()}


AUTOMATIC = Strategy()


def _written(text: str) -> dict[str, Any]:
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {"kernel": name.strip()}
    for part in rest.split(",") if rest.strip() else ():
        option, given, value = part.partition("=")
        options[option.strip()] = value.strip() if given else True
    return options


def _value(kernel: str, option: Option, value: Any, ordinal: OrdinalKind) -> Any:
    try:
        return option.read(value, lambda amount: ordinal.amount(Quantity.parse(amount)))
    except (ValueError, TypeError, KeyError, QuantityError) as error:
        raise PlanError(f"strategy {kernel!r}: {option.name} is {value!r}: expected {option.expected}") from error
