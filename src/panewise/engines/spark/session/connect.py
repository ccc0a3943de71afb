"""Spark Connect servers that are gone: found out at once, and told apart from a network that stutters.

Spark's client tries again for ten minutes whenever a server cannot be reached, because one behind a network may come
back. Where the machine itself answers that no program listens, there is no server any more, and one that is started
anew does not know the session: waiting does not help.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

REFUSED = "Connection refused"
_GONE = (REFUSED, "StatusCode.UNAVAILABLE", "RETRIES_EXCEEDED", "INVALID_HANDLE.SESSION_NOT_FOUND",
         "INVALID_HANDLE.SESSION_CLOSED", "INVALID_HANDLE.SESSION_CHANGED")
_CLIENT = ("grpc", "pyspark.errors.exceptions.connect", "pyspark.sql.connect")


def do_not_wait_for_a_dead_server(spark: SparkSession) -> None:
    """Let a Connect session fail as soon as no program listens where its server was; others have no such client."""
    if not is_connect(spark):
        return
    client: Any = spark.client
    from pyspark.sql.connect.client.retries import DefaultPolicy

    class UnlessRefused(DefaultPolicy):
        """Spark's own policy, but for a refused connection."""

        def can_retry(self, e: BaseException) -> bool:
            """Whether trying again can help."""
            return REFUSED not in str(e) and super().can_retry(e)

    client.set_retry_policies([UnlessRefused()])


def server_gone(error: BaseException | None) -> bool:
    """Whether an error, or one it followed from, is the client's about a server or session that is not there."""
    while error is not None:
        if type(error).__module__.startswith(_CLIENT) and any(sign in str(error) for sign in _GONE):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_server(spark: SparkSession) -> None:
    """Ask a Connect session something, so that one without its server fails here."""
    if is_connect(spark):
        spark.conf.get("spark.sql.session.timeZone")


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of a Spark Connect server."""
    return "connect" in type(spark).__module__.split(".")
