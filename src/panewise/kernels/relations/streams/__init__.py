"""From a relation back to a stream."""
