"""Three engines for one plan, none of which knows the others: ``oracle``, ``embedded`` and ``spark``."""
