"""Takes the deliveries of a webhook, prints each event once, and answers 204. WEBHOOK_SECRETS: those of the webhooks file."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from intray_client import NotGenuine, verify

seen: set[str] = set()  # in production: a table, written in the transaction that does the work


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length if 0 < length < 1 << 20 else 0)
        try:
            event = verify(self.headers, body, os.environ["WEBHOOK_SECRETS"].split())
        except NotGenuine:
            return self.send_error(401)
        self.send_response(204)  # before the work: a delivery that is not answered is sent again
        self.end_headers()
        if event.id not in seen:
            seen.add(event.id)
            # What people typed may hold half a character, which no terminal can show.
            print(event.type, event.data.get("id"), ascii(event.data.get("result")), flush=True)


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Receiver)
print(f"listens on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
