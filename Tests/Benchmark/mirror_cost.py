#!/usr/bin/env python3
"""mirror-cost MIRROR: estimates the daily requests, bytes and cost of a mirror that rsdump export --to mirror has written.

Sizes are measured from the mirror's files, compressed where nginx sends them compressed. Everything else is an assumption
that an option can change: what clients do, what a request and a gigabyte cost. Which attachments a new client downloads
depends on the application: --attachments and --attachment-bytes add those that it did not ship.
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
    parser.add_argument("--store", action="store_true", help="compare own hosts with nginx, and an object store behind a CDN")
    parser.add_argument("--host-price", type=float, default=50, help="of a host with two cores a month, in dollars")
    parser.add_argument("--host-requests", type=float, default=20_000, help="that such a host answers a second, over TLS")
    parser.add_argument("--peak", type=float, default=10, help="requests at the peak, as a multiple of the mean")
    parser.add_argument("--locations", type=float, default=100, help="of the CDN, each of which asks the store")
    parser.add_argument("--put-price", type=float, default=5, help="of a million objects written, in dollars")
    parser.add_argument("--get-price", type=float, default=0.40, help="of a million objects read by the CDN, in dollars")
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
    if given.store:
        compare(given, objects, sizes, monitor, full, delta)
        return
    print("| daily clients | snapshots | requests a day | mean a second | GB a day | dollars a month |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for clients in given.clients:
        for packaged in (False, True):
            # A new client asks for the root, the monitor and what it does not have.
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


def compare(given, objects, sizes, monitor, full, delta):
    """Own hosts with nginx; a store behind a CDN that has the rules of export --to edge; the same without any rules."""
    plain = [each["size"] for each in objects if "/v2/buckets/" in each["path"] and each["path"].endswith("/changeset")
             and "/monitor/" not in each["path"]]
    states = sum("/v2/" in path and "/since/" in path and "/monitor/" not in path for path in sizes) / len(full)
    # Each changeset for each version, by its state and by its name alone, as it is and compressed; lists, roots and the state.
    puts = given.changed * 2 * 2 * 2 * (1 + states) + 13
    whole = sum(plain) / len(plain)
    print(f"measured: {states:g} deltas for each collection, so that {puts:,.0f} objects are written in a day; a changeset has "
          f"{whole:,.0f} B on average as it is")
    print(f"assumed: ${given.host_price:g} a month for a host that answers {given.host_requests:,g} requests a second, twice the "
          f"peak of {given.peak:g} times the mean; {given.locations:g} locations of the CDN; ${given.put_price:g} for a million "
          f"objects written, ${given.get_price:g} for a million read\n")
    print("| daily clients | served by | requests a day | of these from the store | GB a day | dollars a month |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for clients in given.clients:
        requests = clients * (given.polls + given.changed + given.new * (1 + len(full)))
        for name, change, first in (("nginx", delta, sum(full)), ("store and CDN", delta, sum(full)),
                                    ("the same without rules", whole, sum(plain))):
            volume = clients * (
                given.polls * monitor + given.changed * change + given.new * (sizes.get("/v2/", 0) + first)
            ) + requests * given.head_bytes + clients * given.polls * given.connection_bytes
            cost = 30 * volume / 1e9 * given.gigabyte_price
            if name == "nginx":
                reads = 0
                cost += max(2, -(-2 * given.peak * requests / 86400 // given.host_requests)) * given.host_price
            else:
                # The list of collections lasts for a minute, everything else for an hour at least.
                reads = min(requests, given.locations * (1440 + 24 * (1 + len(full) + given.changed * states)))
                cost += 30 * (requests * given.million_price + puts * given.put_price + reads * given.get_price) / 1e6
            print(f"| {clients:,.0f} | {name} | {requests:,.0f} | {reads:,.0f} | {volume / 1e9:,.1f} | {cost:,.0f} |")


if __name__ == "__main__":
    main()
