"""What some tests of Spark share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spark.clusters import Cluster, standalone


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running
