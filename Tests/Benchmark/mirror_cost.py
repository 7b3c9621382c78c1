#!/usr/bin/env python3
"""mirror-cost MIRROR: estimates the daily requests, bytes and cost of a mirror that rsdump export --to mirror has written.

Sizes are those of the mirror's files, compressed where nginx sends them compressed. All other numbers, such as requests per
client and prices, are assumptions that you can change with options. A new client downloads the attachments that the app did not
ship: --attachments and --attachment-bytes.
"""
import argparse
import json
import pathlib


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("mirror", type=pathlib.Path)
    parser.add_argument("--clients", type=float, nargs="+", default=[1e6, 10e6, 200e6], help="daily clients")
    parser.add_argument("--polls", type=float, default=1, help="polls of the monitor a day and client")
    parser.add_argument("--new", type=float, default=0.005, help="part of the clients that start for the first time")
    parser.add_argument("--changed", type=float, default=2, help="collections that change a day")
    parser.add_argument("--delta-bytes", type=float, default=3000, help="a compressed delta, where the mirror has none")
    parser.add_argument("--stale", type=float, default=8, help="collections that are newer than the packaged snapshot")
    parser.add_argument("--attachments", type=float, default=0, help="requests of a new client for attachments")
    parser.add_argument("--attachment-bytes", type=float, default=0, help="of these attachments, in all")
    parser.add_argument("--head-bytes", type=float, default=330, help="an answer's head, as nginx sends it")
    parser.add_argument("--connection-bytes", type=float, default=3000, help="TLS handshake, once for each poll")
    parser.add_argument("--gigabyte-price", type=float, default=0.02, help="of 10^9 bytes out, in dollars")
    parser.add_argument("--million-price", type=float, default=0.60, help="of a million requests, in dollars")
    return parser.parse_args()


def main():
    given = arguments()
    objects = json.loads((given.mirror / "current/objects.json").read_bytes())
    sizes = {each["path"]: each.get("gzipSize") or each["size"] for each in objects}
    monitor = next(size for path, size in sizes.items() if path.endswith("/v2/buckets/monitor/collections/changes/changeset"))
    full = [size for path, size in sizes.items()
            if "/v2/buckets/" in path and path.endswith("/changeset") and "/monitor/" not in path]
    deltas = sorted(size for path, size in sizes.items()
                    if "/v2/buckets/" in path and "/since/" in path and "/monitor/" not in path
                    and json.loads((given.mirror / "current" / path.lstrip("/")).read_bytes())["changes"])
    delta = deltas[len(deltas) // 2] if deltas else given.delta_bytes
    print(f"measured: monitor {monitor:,} B; {len(full)} changesets {sum(full):,} B in all; "
          f"median delta {f'{delta:,} B' if deltas else 'assumed'}")
    print(f"assumed: {given.polls:g} polls, {given.changed:g} changed collections, {given.new:.1%} new clients a day; "
          f"{given.stale:g} collections newer than the snapshot; {given.attachments:g} attachments of "
          f"{given.attachment_bytes:,.0f} B in all; {given.head_bytes:g} B for a head, {given.connection_bytes:,g} B for a "
          f"connection; ${given.gigabyte_price}/GB, ${given.million_price}/million\n")
    print("| daily clients | snapshots | requests a day | mean a second | GB a day | dollars a month |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for clients in given.clients:
        for packaged in (False, True):
            # A new client requests the root, the monitor and everything it lacks.
            fetched = given.stale if packaged else len(full) + given.attachments
            first = given.stale * delta if packaged else sum(full) + given.attachment_bytes
            daily = given.polls + given.changed
            requests = clients * (daily + given.new * (1 + fetched))
            volume = clients * (
                given.polls * monitor + given.changed * delta + given.new * (sizes.get("/v2/", 0) + first)
            ) + requests * given.head_bytes + clients * given.polls * given.connection_bytes
            cost = 30 * (volume / 1e9 * given.gigabyte_price + requests / 1e6 * given.million_price)
            print(f"| {clients:,.0f} | {'packaged' if packaged else 'none'} | {requests:,.0f} | {requests / 86400:,.0f} "
                  f"| {volume / 1e9:,.1f} | {cost:,.0f} |")


if __name__ == "__main__":
    main()
