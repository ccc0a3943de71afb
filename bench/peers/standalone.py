"""A standalone cluster of Spark on this machine: a master and two workers of one core, each a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
HERE = "127.0.0.1"
SETTINGS = {"spark.sql.shuffle.partitions": 2, "spark.cores.max": 2, "spark.executor.cores": 1,
            "spark.executor.memory": "1g", "spark.driver.host": HERE, "spark.driver.bindAddress": HERE}
"""What an application needs to run here: two executors of one core."""
WORKERS = ("worker-1", "worker-2")
PATIENCE = 60.0
"""Seconds in which a daemon has to be up."""


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The URL of a cluster that ends with the block; what its daemons say is in the folder."""
    with socket.create_server((HERE, 0)) as server:
        port = str(server.getsockname()[1])
    url = f"spark://{HERE}:{port}"
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        daemons.append(_daemon(folder, "master", "master.Master", "--host", HERE, "--port", port, "--webui-port", "0"))
        _wait(folder / "master.log", "I have been elected leader", daemons[-1])
        daemons += [_daemon(folder, name, "worker.Worker", "--host", HERE, "--webui-port", "0", "--cores", "1",
                            "--memory", "1200m", url) for name in WORKERS]
        for name, daemon in zip(WORKERS, daemons[1:], strict=True):
            _wait(folder / f"{name}.log", "Successfully registered with master", daemon)
        yield url
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait()


def _daemon(folder: Path, name: str, role: str, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": HERE, "SPARK_DAEMON_MEMORY": "256m",
                   "SPARK_WORKER_DIR": str(folder / "work"), "SPARK_LOCAL_DIRS": str(folder / "local")}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen([str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *arguments],
                                cwd=folder, env=environment, stdout=log, stderr=log)


def _wait(log: Path, sign: str, daemon: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while sign not in (text := log.read_text(errors="replace")):
        if daemon.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"no standalone cluster: {' '.join(text.splitlines()[-1:])}")
        time.sleep(0.1)
