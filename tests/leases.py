"""Leases of builds: let them end, and ask for them."""

from datetime import UTC, datetime

from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from samples import SITE
from sitemaps_plus.build.lease import Lease, hold
from sitemaps_plus.errors import BuildLocked
from sitemaps_plus.models import Build
from sitemaps_plus.plan.sites import SiteOrigin


def expire(site: SiteOrigin = SITE) -> None:
    """Let the lease of a site be over, as if its holder had been silent for long."""
    found = Build.objects.filter(site=site.id, result="running")
    assert found.update(expires_at=datetime(2020, 1, 1, tzinfo=UTC)) == 1


def results() -> list[str]:
    """Return what became of all builds, the oldest first."""
    return list(Build.objects.order_by("pk").values_list("result", flat=True))


def is_locked(site: SiteOrigin = SITE) -> bool:
    try:
        with hold(site):
            return False
    except BuildLocked:
        return True


def raise_in_block(error: BaseException) -> None:
    with hold(SITE):
        raise error


def statements(queries: CaptureQueriesContext) -> list[str]:
    """Return what was asked, without what begins and ends transactions."""
    return [query["sql"] for query in queries if query["sql"].startswith(("UPDATE", "INSERT", "DELETE", "SELECT"))]


def disconnect() -> None:
    """Let the server close the connection, as it does to one that was silent for long."""
    kill, own = {
        "postgresql": ("SELECT pg_terminate_backend(%s)", "SELECT pg_backend_pid()"),
        "mysql": ("KILL %s", "SELECT CONNECTION_ID()"),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(own)
        (number,) = cursor.fetchone()
    another = connections.create_connection("default")
    with another.cursor() as cursor:
        cursor.execute(kill, [number])
    another.close()


def die() -> None:
    """Leave behind what a build does that is killed."""
    assert Lease(SITE)._take() is None
