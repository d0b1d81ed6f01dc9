"""The reference library of Standard Webhooks, in a folder of packages of its own: `reference.py sign` and `reference.py verify` read one
JSON object and print a signature, or whether it is genuine.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone

from standardwebhooks.webhooks import Webhook, WebhookVerificationError  # type: ignore[import-not-found, unused-ignore]


def sign(secret: str, id: str, timestamp: int, body: str) -> str:
    return str(Webhook(secret).sign(id, datetime.fromtimestamp(timestamp, timezone.utc), body))


def verify(secret: str, headers: dict[str, str], body: str) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


if __name__ == "__main__":
    given = json.load(sys.stdin)
    print(sign(**given) if sys.argv[1] == "sign" else verify(**given))
