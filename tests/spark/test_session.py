"""What a user sees when Spark cannot start, and what a session is set to."""

from __future__ import annotations

from pathlib import Path

import pytest

from panewise.core.errors import AggregateError, LateRowError, PanewiseError, SchemaError
from panewise.engines.spark.host.sharding import shard_labels, spark_hash
from panewise.engines.spark.session.failures import translate
from panewise.engines.spark.session.session import check_java, defaults


def test_without_java_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PanewiseError, match="openjdk-17-jre-headless"):
        check_java()


def test_an_old_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text('#!/bin/sh\necho \'openjdk version "11.0.2" 2019-01-15\' >&2\n')
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PanewiseError, match="is Java 11"):
        check_java()


def test_only_local_sessions_get_the_settings_of_one_machine() -> None:
    assert defaults("local[2]")["spark.sql.shuffle.partitions"] == "2"
    assert not {"spark.sql.shuffle.partitions", "spark.driver.memory", "spark.python.daemon.module"} & set(
        defaults("spark://host:7077"))


@pytest.mark.parametrize("shards", [1, 2, 5, 16])
def test_shards_fall_into_different_partitions(shards: int) -> None:
    assert len({spark_hash(label) % shards for label in shard_labels(shards)}) == shards


@pytest.mark.parametrize(("text", "kind", "message"), [
    ("[X] panewise.core.errors.SchemaError: 'ts' is null SQLSTATE: P0001", SchemaError, "'ts' is null"),
    ("Traceback\n  File x\npanewise.core.errors.LateRowError: row 3 is late\n SQLSTATE", LateRowError, "row 3 is late"),
    ("[ARITHMETIC_OVERFLOW] long overflow. Use ... SQLSTATE: 22003", AggregateError, "long overflow. Use ..."),
])
def test_errors_from_inside_spark_are_found_again(text: str, kind: type[PanewiseError], message: str) -> None:
    found = translate(RuntimeError(text))
    assert type(found) is kind
    assert str(found) == message


def test_spark_printing_a_plan_is_no_error_of_ours() -> None:
    plan = "Project [raise_error(concat(panewise.core.errors., SchemaError: , 't' is null))]"
    assert translate(RuntimeError(plan)) is None
