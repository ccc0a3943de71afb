"""Where results go: a function, lines of NDJSON to a pipe or socket, one file, or parts that come with checkpoints."""

from panewise.engines.embedded.sinks.base import CallbackSink, Sink, Transaction, TransactionalSink
from panewise.engines.embedded.sinks.files import FileSink
from panewise.engines.embedded.sinks.lines import LineSink, SocketSink
from panewise.engines.embedded.sinks.parts import KeptResults, PartsSink

__all__ = ["CallbackSink", "FileSink", "KeptResults", "LineSink", "PartsSink", "Sink", "SocketSink",
           "Transaction", "TransactionalSink"]
