"""The time zone of a run: one for all its streams, in which expressions and brackets read clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from panewise.core.errors import PlanError
from panewise.core.schema import Catalog, SourceSchema


def catalog_in(schemas: Mapping[str, SourceSchema] | None, zone: str | None) -> Catalog:
    """The inputs of a query whose clocks are those of a zone; without one, of the zone they have."""
    if zone is None:
        return Catalog.anything() if schemas is None else Catalog(schemas)
    check_zone(zone)
    if schemas is None:
        return Catalog.anything(zone)
    return Catalog({name: replace(schema, zone=zone) for name, schema in schemas.items()})


def check_zone(zone: str) -> None:
    """Refuse what is no time zone.

    >>> check_zone("Europe/Berlin"), check_zone("+02:00")
    (None, None)
    """
    from panewise.functions.zones import zone_of

    if not isinstance(zone, str) or zone_of(zone) is None:
        raise PlanError(f"zone={zone!r} is no time zone: give a name such as 'Europe/Berlin', or an offset such as "
                        "'+02:00'")


def same_zone(schemas: Mapping[str, SourceSchema], zone: str | None) -> None:
    """On Spark the session says the zone, because the JVM computes in it; another one is refused."""
    for schema in schemas.values():
        if zone is not None and zone != schema.zone:
            check_zone(zone)
            raise PlanError(f"zone={zone!r}, and the Spark session computes in {schema.zone!r}: set it there, "
                            f"spark.conf.set('spark.sql.session.timeZone', {zone!r})")
