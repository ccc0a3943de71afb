"""Brute force from the definitions: slow, and obviously right.

``definition`` holds what a timeline means for every plan node and answers three questions: the rows a node ever puts
out (``inputs``, ``windows``, ``accumulation``), its contents at an instant (``relations``, ``tables``, ``streams``),
and when these can change (``instants``, ``scopes``). ``late`` and ``closing`` are progress by definition. ``changes``
turns contents into what is reported, ``engine`` is the front.
"""

from panewise.engines.oracle.changes import Change
from panewise.engines.oracle.engine import Oracle
from panewise.engines.oracle.tables import TableChange

__all__ = ["Change", "Oracle", "TableChange"]
