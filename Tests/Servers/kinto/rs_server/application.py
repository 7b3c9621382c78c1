"""Puts the server together: request log, control, faults, compression, front, Kinto (outermost first)."""
import pathlib

import kinto

from . import pki, review as reviewing
from .compression import Compression
from .control import Control
from .faults import Faults
from .front import Front
from .loader import Loader
from .request_log import RequestLog

BUCKETS = ("main", "blocklists", "security-state")


def settings(data, host):
    base = f"http://{host}/v1"
    return {
        "includes": "kinto.plugins.flush kinto_attachment kinto_changes rs_server.signing",
        "storage_backend": "rs_server.storage",
        "cache_backend": "kinto.core.cache.memory",
        "permission_backend": "kinto.core.permission.memory",
        "userid_hmac_secret": "test-only",
        # Kinto builds URLs from these two settings, not from the request.
        "http_scheme": "http",
        "http_host": host,
        "batch_max_requests": "200",
        "flush_endpoint_enabled": "true",
        "bucket_create_principals": "system.Everyone",
        "bucket_write_principals": "system.Everyone",
        "multiauth.policies": "basicauth",
        "attachment.base_path": str(data / "attachments"),
        # Empty, so that records have relative locations; clients read the other setting.
        "attachment.base_url": "",
        "attachment.extra.base_url": f"{base}/attachments/",
        "attachment.folder": "{bucket_id}-workspace/{collection_id}",
        "attachment.extensions": "any",
        # Otherwise, a file that was requested before it existed would remain missing.
        "pyramid.reload_assets": "true",
        "attachment.keep_old_files": "true",
        "changes.resources": " ".join(f"/buckets/{bucket}" for bucket in BUCKETS),
        # The front redirects an old _since, for v1 and v2 alike.
        "changes.since_max_age_days": "-1",
        "rs_server.buckets": " ".join(BUCKETS),
        "rs_server.pki": str(data / "pki"),
        "rs_server.x5u_base": f"{base}/chains/",
    }


def make(data, host, review=False):
    """The WSGI application that stores its files in `data`, at the address `host` (name:port).

    With `review`, collections are published by kinto-signer: see review.py.
    """
    data = pathlib.Path(data)
    (data / "attachments").mkdir(parents=True, exist_ok=True)
    if not (data / "pki" / "root.sha256").exists():
        pki.make(data / "pki")
    chosen = settings(data, host)
    if review:
        chosen.update(reviewing.SETTINGS, includes=chosen["includes"] + " kinto_signer")
    app = kinto.main({}, **chosen)
    registry = app.registry
    faults = Faults(Compression(Front(app, registry)))
    control = Control(faults, registry, faults, Loader(registry, data / "attachments"))
    return RequestLog(control, data / "requests.jsonl")
