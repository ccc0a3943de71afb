"""The engines by name; a module is loaded when its engine is first asked for, for Spark is slow to import."""

from __future__ import annotations

from importlib import import_module

from panewise.core.errors import PlanError
from panewise.core.names import unknown_name
from panewise.engines.contract import Engine

ENGINES = {"spark": "SparkEngine", "embedded": "EmbeddedEngine", "oracle": "OracleEngine"}


def engine_named(name: str) -> Engine:
    """An engine.

    >>> type(engine_named("oracle")).__name__
    'OracleEngine'
    """
    if name not in ENGINES:
        raise PlanError(unknown_name("engine", name, ENGINES))
    found: Engine = getattr(import_module(f"panewise.engines.{name}.front"), ENGINES[name])()
    return found
