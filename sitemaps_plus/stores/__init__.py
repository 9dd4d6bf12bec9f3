"""Keep finished documents where crawlers can get them."""
