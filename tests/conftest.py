"""What all tests of a process share: one Spark session, started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from property_runs import is_soaking, prolong

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Property tests are judged by their answers, not by how busy the machine is. On a desk every run tries new cases; what
# must hold before a change lands is the same question each time; `make soak` searches long, in every property test.
settings.register_profile("desk", deadline=None)
settings.register_profile("landing", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("soak", max_examples=2000, deadline=None)
settings.load_profile("desk")  # unless the command line says another


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for the session needs Spark: such tests run file by file, a session for every process.

    With the profile `soak` every property test without Spark is one to soak, however few examples the gate allows it.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        elif is_soaking() and item.get_closest_marker("spark") is None and prolong(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.soak)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with two cores and two shuffle partitions: small data, short tests."""
    from panewise.engines.spark.session.session import session

    running = session("local[2]", "panewise tests", **{"spark.sql.shuffle.partitions": 2})
    yield running
    running.stop()
