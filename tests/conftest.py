"""What all tests share: one Spark session, started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that needs Spark runs in one process, so that there is one session; the rest fills the other cores."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with two cores and two shuffle partitions: small data, short tests."""
    from panewise.engines.spark.session import session

    running = session("local[2]", "panewise tests", **{"spark.sql.shuffle.partitions": 2})
    yield running
    running.stop()
