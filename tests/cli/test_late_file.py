"""The file of late rows beside a checkpoint: each late row once, whenever the run fails or is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli import late_file_job as job
from fuzz.injector import failing
from panewise.core.errors import PanewiseError

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_a_run_that_failed_writes_each_late_row_once_when_it_goes_on(tmp_path: Path, fault: str) -> None:
    number = job.calls(tmp_path / "whole")
    assert job.late_rows(tmp_path / "whole") == job.LATE
    struck = 0
    for at in range(3, number, 4):
        folder = tmp_path / str(at)
        with failing(at, fault) as injector:
            try:
                job.run(folder)
            except PanewiseError:
                struck += 1
        assert injector.struck
        job.run(folder)
        assert job.late_rows(folder) == job.LATE, f"call {at}"
    assert struck > 5


def test_a_run_that_was_killed_writes_each_late_row_once_when_it_goes_on(tmp_path: Path) -> None:
    """In a process of its own, which has no threads when it forks."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, job.__file__, str(tmp_path)], env={**os.environ, "PYTHONPATH": path},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3
