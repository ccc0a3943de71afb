"""The package for workers that do not have it installed: a cluster's executors, a Connect server's.

Only this package travels; what it imports (Arrow, NumPy, numba, pandas) has to be where the workers run.
"""

from __future__ import annotations

import atexit
import py_compile
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parents[2]


@cache
def package_zip() -> Path:
    """This package as a zip file for ``spark.submit.pyFiles`` or ``addArtifacts``; it goes away with the process."""
    folder = Path(tempfile.mkdtemp(prefix="panewise-package-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "panewise.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*.py")):
            inside = Path(PACKAGE.name) / path.relative_to(PACKAGE)
            archive.write(path, inside)
            if b"import compiled" in path.read_bytes():
                continue  # numba keeps what it compiles under the place a function says it comes from: the archive
            compiled = folder / "compiled"
            py_compile.compile(str(path), str(compiled), dfile=str(inside), doraise=True,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            archive.write(compiled, inside.with_suffix(".pyc"))  # or each worker would compile what it imports
    return target


def ship(spark: SparkSession) -> None:
    """Send the package to the workers of a session that was made elsewhere, classic or Connect."""
    spark.addArtifacts(str(package_zip()), pyfile=True)
