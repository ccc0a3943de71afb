"""A real standalone cluster on this machine: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import pyspark

from spark.processes import under

HOME = Path(pyspark.__file__).parent
SETTINGS = {"spark.sql.shuffle.partitions": 2, "spark.cores.max": 2, "spark.executor.cores": 1,
            "spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""What an application needs to run here: two executors of one core."""


class Daemon:
    """One of Spark's long-running processes; what it says is read all the time, so that it never waits for a reader."""

    def __init__(self, role: str, folder: Path, *arguments: str, up: str) -> None:
        environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1",
                       "SPARK_DAEMON_MEMORY": "256m", "SPARK_WORKER_DIR": str(folder / "work"),
                       "SPARK_LOCAL_DIRS": str(folder / "local")}
        environment.pop("PYTHONPATH", None)
        self.process = subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *arguments], cwd=folder,
            env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.said: list[str] = []
        self._ready, self._up = Event(), re.compile(up)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if self._up.search(line):
                self._ready.set()
        self._ready.set()

    def wait(self) -> None:
        """Until it is up."""
        self._ready.wait()
        if not any(self._up.search(line) for line in self.said):
            raise RuntimeError(f"{self.process.args} ended:\n{''.join(self.said)}")

    def end(self) -> None:
        """Stop it and wait."""
        self.process.terminate()
        self.process.wait(timeout=60)
        self._reader.join()


@dataclass
class Cluster:
    """What is running."""

    url: str
    workers: list[Daemon]

    def executors(self) -> list[int]:
        """The JVMs that work for applications."""
        return [p.number for w in self.workers for p in under(w.process.pid) if "ExecutorBackend" in p.command]

    def python_workers(self) -> list[int]:
        """The Python workers of all executors."""
        return [p.number for w in self.workers for p in under(w.process.pid) if p.role == "worker"]


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """A master with two workers of one core each, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])
    url = f"spark://127.0.0.1:{port}"
    daemons = [Daemon("master.Master", folder, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0",
                      up="Starting Spark master|I have been elected leader")]
    try:
        daemons[0].wait()
        daemons += [Daemon("worker.Worker", folder, "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1",
                           "--memory", "600m", url, up="Successfully registered with master") for _ in range(2)]
        for worker in daemons[1:]:
            worker.wait()
        yield Cluster(url, daemons[1:])
    finally:
        for daemon in reversed(daemons):
            daemon.end()
