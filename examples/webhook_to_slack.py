"""Posts the events of a webhook into a Slack channel. WEBHOOK_SECRETS: those of the webhooks file. SLACK_URL: an incoming webhook."""

import html
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

from intray_client import NotGenuine, WebhookEvent, verify

seen: set[str] = set()


def post(event: WebhookEvent) -> None:
    what, state, worker = (event.data.get(name) for name in ("id", "state", "worker"))
    text = f"{what or 'a test'} is {state or 'sent'}" + (f", by {worker}" if worker else "")
    body = json.dumps({"text": html.escape(text, quote=False)}).encode()  # Slack's own rule for &, < and >
    urlopen(Request(os.environ["SLACK_URL"], body, {"Content-Type": "application/json"}), timeout=10).close()


class Relay(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length if 0 < length < 1 << 20 else 0)
        try:
            event = verify(self.headers, body, os.environ["WEBHOOK_SECRETS"].split())
            if event.id not in seen:
                post(event)
                print(event.type, event.data.get("id"), flush=True)
                seen.add(event.id)
        except NotGenuine:
            return self.send_error(401)
        except OSError:
            return self.send_error(502)  # Slack did not take it: intray sends it again
        self.send_response(204)
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Relay)
print(f"listens on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
