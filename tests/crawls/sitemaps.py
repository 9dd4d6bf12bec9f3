"""What the processes register; the test registers it for itself."""

from crawls.rows import Rows
from sitemaps_plus import register

register("rows", Rows)
