"""A Spark session that works without any set-up: local by default, any cluster by its master URL.

What a user passes wins over the defaults here. The JVM and the Python workers it starts write to a log file instead of
the console: their warnings are about Spark's own set-up, and failures reach the caller as exceptions anyway.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from socketserver import BaseServer
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.sql import SparkSession

from panewise.core.errors import PanewiseError
from panewise.engines.spark.session.connect import check_server, do_not_wait_for_a_dead_server
from panewise.engines.spark.session.failures import while_it_lives
from panewise.engines.spark.session.shipping import package_zip, ship

MINIMUM_JAVA = 17
ARROW_ROWS = 65_536
NO_LIMIT = (1 << 31) - 1
"""With a limit in bytes Spark sums up the size of all columns after every single row it sends to Python; the number of
rows is limited anyway."""
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PLAIN_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
"""Spark's default for local folders starts a process (readlink, chmod) for every question about a file of a checkpoint,
in every micro-batch; this one starts few. Renaming, which makes a checkpoint's files whole, is the same call."""
COLLECTOR = "-XX:+UseParallelGC -XX:MetaspaceSize=256m"
"""G1 marks the heap whenever a large array is made, on one of the few cores that a local session has."""
SETTABLE = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(NO_LIMIT),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""What a session can still be given when its JVM is already running, as on a Connect server."""


@while_it_lives()
def session(master: str = "local[*]", app_name: str = "panewise", *, log: str | Path | None = None,
            connect: bool = False, **conf: Any) -> SparkSession:
    """The running session, or a new one with defaults that fit window queries.

    ``master`` is ``local[*]``, a cluster's URL, or ``sc://host:port`` for a Spark Connect server; with ``connect`` a
    server is started for the master and reached through Connect. Workers of a cluster or a server are sent this
    package. ``conf`` takes Spark settings with dots as keys (``**{"spark.ui.enabled": "true"}``); they win over the
    defaults. ``log`` is where the JVM and its workers write (default: a temporary file, gone with the process).
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        for key, value in conf.items():
            if running.conf.isModifiable(key):  # the others were decided when it started
                running.conf.set(key, str(value))
        check_server(running)
        return running
    server = master.startswith("sc://") or "SPARK_REMOTE" in os.environ
    if connect or server:
        check_connect()
    if not server:
        check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers must have the driver's packages
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    builder = builder.remote(master) if connect or master.startswith("sc://") else builder.master(master)
    settings = {**(SETTABLE if server else defaults(master)), **conf}
    if not server and local_cores(master) is None:
        settings.setdefault("spark.submit.pyFiles", str(package_zip()))
    for key, value in settings.items():
        builder = builder.config(key, str(value))
    if server:
        started = builder.getOrCreate()
        do_not_wait_for_a_dead_server(started)
        ship(started)
        return started
    with _stderr_to(Path(log) if log is not None else _passing_file()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Failed to set spark", UserWarning)  # the server was started with them
        _say_an_end_once()
        started = builder.getOrCreate()
    do_not_wait_for_a_dead_server(started)
    return started


def _say_an_end_once() -> None:
    """When its JVM is gone, Spark's server for accumulators prints a stack and py4j logs others, to the root logger and
    to its own, for what the caller is told by an error."""
    for logger in (None, "py4j", "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(logger).addFilter(_is_no_lost_connection)

    def handle_error(self: BaseServer, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            BaseServer.handle_error(self, request, client_address)

    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = handle_error  # type: ignore[method-assign]


def _is_no_lost_connection(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    lost = isinstance(error, OSError | Py4JError) and not isinstance(error, Py4JJavaError)  # that one the JVM has told
    return not (lost and Path(record.pathname).parent.name == "py4j")


def defaults(master: str) -> dict[str, str]:
    """The settings a new session gets.

    >>> defaults("local[3]")["spark.sql.shuffle.partitions"], "spark.sql.shuffle.partitions" in defaults("yarn")
    ('3', False)
    """
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **SETTABLE,
    }
    cores = local_cores(master)
    if cores is not None:
        settings["spark.sql.shuffle.partitions"] = str(cores)
        settings["spark.driver.memory"] = f"{_driver_megabytes()}m"
        settings["spark.driver.host"] = "localhost"
        settings["spark.sql.streaming.checkpointFileManagerClass"] = PLAIN_FILES
        settings["spark.driver.extraJavaOptions"] = COLLECTOR
        settings["spark.python.daemon.module"] = "panewise.engines.spark.session.daemon"  # workers have this package
    return settings


def local_cores(master: str) -> int | None:
    """How many cores a local master uses; ``None`` for a cluster.

    >>> local_cores("local"), local_cores("local[4]"), local_cores("spark://host:7077")
    (1, 4, None)
    """
    match = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?", master.strip())
    if match is None:
        return None
    if match[1] is None:
        return 1
    return (os.cpu_count() or 1) if match[1] == "*" else int(match[1])


def check_java() -> int:
    """The major version of the Java that Spark will use; a clear error when there is none or it is too old."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    advice = (f"Spark needs Java {MINIMUM_JAVA} or newer. Install it with your system's packages, for example "
              "`apt-get install openjdk-17-jre-headless` or `brew install openjdk@17`, or point JAVA_HOME at one; "
              "`--engine embedded` runs without Java")
    if program is None:
        where = f"there is none in JAVA_HOME={home}" if home else "no `java` is on the PATH and JAVA_HOME is not set"
        raise PanewiseError(f"Java was not found: {where}. {advice}")
    try:
        text = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except OSError as error:
        raise PanewiseError(f"{program} cannot be run: {error}. {advice}") from error
    version = java_major(text)
    if version is not None and version < MINIMUM_JAVA:
        raise PanewiseError(f"{program} is Java {version}. {advice}")
    return version or MINIMUM_JAVA


def check_connect() -> None:
    """A clear error when the packages that talk to a Connect server are missing."""
    missing = [name for name in ("grpc", "grpc_status", "google.rpc", "zstandard") if not _found(name)]
    if missing:
        raise PanewiseError(f"Spark Connect needs Python packages that are not installed ({missing[0]} is missing): "
                            "pip install 'panewise[connect]', or use a master such as local[*] or spark://host:7077")


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent
        return False


def java_major(text: str) -> int | None:
    """The major version in what ``java -version`` says.

    >>> java_major('openjdk version "17.0.15" 2025-04-15'), java_major('java version "1.8.0_402"'), java_major("?")
    (17, 8, None)
    """
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    return int(match[2]) if match[1] == "1" and match[2] else int(match[1])


def _driver_megabytes() -> int:
    """A quarter of the memory, between 1 and 8 GB: in local mode the driver does all the work."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (ValueError, OSError, AttributeError):
        total = 4096
    return max(1024, min(8192, total // 4))


def _passing_file() -> Path:
    handle, name = tempfile.mkstemp(prefix="panewise-spark-", suffix=".log")
    os.close(handle)
    path = Path(name)
    atexit.register(path.unlink, missing_ok=True)
    return path


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Point the process's error stream at a file while a child that inherits it is started."""
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # no error stream at all, as under some service managers
        yield
        return
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(log, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
        os.close(log)


def in_zone(spark: SparkSession, zone: str | None) -> SparkSession:
    """The session reads clocks in a time zone: the JVM computes what Python computes."""
    if zone is not None:
        spark.conf.set("spark.sql.session.timeZone", zone)
    return spark
