"""Serve the project on a port of this machine, in a process of its own, until the standard input ends."""

import os
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.core.wsgi import get_wsgi_application


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 50


class Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *args):
        """Say nothing of requests."""

    def address_string(self):
        return "127.0.0.1"


def main():
    django.setup()
    from sitemaps_plus.plan import holds

    if hasattr(holds, "MARGIN"):
        # Nobody dies here while he holds a claim.
        holds.MARGIN = float(os.environ["CRAWLS_MARGIN"])
    server = make_server("127.0.0.1", 0, get_wsgi_application(), server_class=Threads, handler_class=Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
