"""What all tests share: one Spark session, started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("soak", max_examples=2000, deadline=None)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for the session needs Spark: such tests run one after the other, the rest on all cores."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with two cores and two shuffle partitions: small data, short tests."""
    from panewise.engines.spark.session import session

    running = session("local[2]", "panewise tests", **{"spark.sql.shuffle.partitions": 2})
    yield running
    running.stop()
