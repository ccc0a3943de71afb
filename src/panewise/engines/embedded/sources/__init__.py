"""Where rows come from: anything Python can iterate, lines of NDJSON from a file that grows, a pipe or a socket."""

from panewise.engines.embedded.sources.base import StreamSource, as_source
from panewise.engines.embedded.sources.iterables import AsyncSource, IterableSource, PositionSource
from panewise.engines.embedded.sources.lines import FollowedFile, LineSource, PipeSource
from panewise.engines.embedded.sources.sockets import SocketSource

__all__ = ["AsyncSource", "FollowedFile", "IterableSource", "LineSource", "PipeSource", "PositionSource",
           "SocketSource", "StreamSource", "as_source"]
