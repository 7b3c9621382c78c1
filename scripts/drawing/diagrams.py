"""The drawings: the way of the data, a sync, and which state is served."""
from drawing.canvas import Canvas


def data():
    """ARCHITECTURE.md, "The picture"; README's first one."""
    c = Canvas(980, 372, "The way of the data", (
        "rsdump refresh fetches collections from Mozilla's server, and rsdump publish signs files in git with keys of your "
        "own. Both verify the signature up to a pinned root before they write a bundle and the lock file, which are "
        "committed. The app is built with them: they are its packaged state. rsdump serve or a static mirror serves them. A "
        "sync asks a server for what is newer, verifies it and stores it: the cached state. getRecords returns the newer of "
        "the two."))
    c.text(22, 32, "before the release: your repository", 13, "soft")
    c.text(650, 32, "on the device: your app", 13, "soft")
    c.box(640, 44, 322, 310, "wash", None)
    c.labelled(20, 52, 168, 66, "Mozilla's server", ["collections, signed"])
    c.labelled(20, 154, 168, 66, "files in git", ["YAML, JSON; your keys"])
    c.labelled(226, 52, 158, 168, "verify", ["the signature", "up to a pinned root"], "good-wash", "good")
    c.text(305, 78, "rsdump refresh", 12.5, "good", "middle", mono=True)
    c.text(305, 192, "rsdump publish", 12.5, "good", "middle", mono=True)
    c.text(305, 209, "signs first", 12, "soft", "middle")
    c.path([(188, 85), (226, 85)])
    c.path([(188, 187), (226, 187)])
    c.labelled(424, 88, 176, 96, "bundle + lock file", ["dumps/main/regions.zip", "dumps/dumps.lock.json"])
    c.path([(384, 136), (424, 136)])
    c.labelled(656, 100, 132, 72, "packaged", ["built into the app"], "raised", "accent")
    c.path([(600, 136), (656, 136)])
    c.labelled(656, 256, 132, 72, "cached", ["stored by a sync"], "raised", "accent")
    c.labelled(424, 256, 138, 72, "a server", ["Mozilla's or yours"])
    c.path([(512, 184), (512, 256)])
    c.text(506, 214, "rsdump serve,", 12, "soft", "end")
    c.text(506, 230, "a static mirror", 12, "soft", "end")
    c.path([(562, 292), (656, 292)])
    c.text(602, 282, "sync", 12.5, "accent", "middle", bold=True)
    c.text(600, 312, "verified", 12, "good", "middle")
    c.path([(20, 85), (10, 85), (10, 292), (424, 292)])
    c.text(217, 282, "the same collections", 12, "soft", "middle")
    c.labelled(826, 178, 122, 72, "getRecords", ["the newer one"], "care-wash", "care")
    c.path([(788, 136), (887, 136), (887, 178)])
    c.path([(788, 292), (887, 292), (887, 250)])
    return c


def sync():
    """SyncRun.swift, CollectionSync.swift, CollectionFetcher.swift, ChainStore.swift."""
    c = Canvas(900, 672, "A sync, step by step", (
        "The app calls sync. The library asks the server once for the timestamps of all collections, and compares each with "
        "what is cached and packaged. If nothing is newer, the sync ends. Otherwise it asks for the changes since its own "
        "state, merges them, asks for the certificate chain if it holds none that is valid, verifies the signature over the "
        "whole collection up to a pinned root, lets the app's check look at the records, replaces the cache file, and tells "
        "the app what has changed. If the changes do not verify, it asks for the whole collection once. If that does not "
        "verify either, nothing is stored and what was held stays."))
    lanes = {"app": 90, "library": 320, "storage": 560, "server": 800}
    for name, label in zip(lanes, ("your app", "RemoteSettings", "storage directory", "server")):
        x = lanes[name]
        c.box(x - 78, 16, 156, 34, "wash", "accent")
        c.text(x, 38, label, 14, anchor="middle", bold=True)

    def message(y, start, end, text, colour="rule", mono=False, dashed=False):
        one, other = lanes[start], lanes[end]
        side = 1 if other > one else -1
        c.path([(one + 6 * side, y), (other - 6 * side, y)], colour, dashed=dashed)
        # The text is beside the library, above its line.
        x = max(min(one, other), 320 if max(one, other) > 320 else 90) + 14
        c.text(x, y - 7, text, 12.5, "ink", mono=mono)

    def step(y, texts, fill, stroke):
        c.box(214, y, 400, 14 + 18 * len(texts), fill, stroke)
        for index, text in enumerate(texts):
            c.text(226, y + 20 + 18 * index, text, 12.5)

    message(84, "app", "library", "service.sync()", mono=True)
    message(118, "library", "server", "which timestamps? one request for all collections")
    message(150, "server", "library", "the list of collections", dashed=True)
    step(164, ["compare with the newest of cached and packaged", "the list has nothing newer: the sync ends here"],
         "raised", "accent")
    message(242, "library", "server", "what has changed since my timestamp? (_since)")
    message(274, "server", "library", "changed records, metadata, signature", dashed=True)
    message(308, "library", "server", "certificate chain, if no valid one is kept")
    message(340, "server", "library", "the chain", dashed=True)
    step(356, ["merge; verify the signature over the whole collection,", "up to a pinned root; an older state is refused"],
         "good-wash", "good")
    step(414, ["does not verify: fetch the whole collection, once;", "fails again: nothing is stored, what was held stays"],
         "bad-wash", "bad")
    step(472, ["the app's check (config.validate), if there is one"], "raised", "accent")
    message(534, "library", "storage", "replace the file in one step")
    message(570, "library", "app", "client.changes", mono=True, dashed=True)
    message(604, "library", "app", "returns what has changed", dashed=True)
    message(638, "app", "library", "getRecords()", mono=True)
    c.text(334, 642, "the new records; the network is not used", 12.5)
    spans = {"app": [(50, 656)], "library": [(50, 164), (214, 356), (406, 414), (464, 472), (504, 656)],
             "storage": [(50, 656)], "server": [(50, 656)]}
    boxes = [(164, 214), (356, 406), (414, 464), (472, 504)]
    lifelines = []
    for name, parts in spans.items():
        x = lanes[name]
        cuts = [(text[1] - 3, text[3] + 3) for text in c.texts if text[0] < x < text[2]]
        cuts += boxes if name == "storage" else []
        for top, bottom in parts:
            at = top
            for begin, end in sorted(cuts):
                if begin < bottom and end > at:
                    if begin > at:
                        lifelines.append((name, at, begin))
                    at = end
            if at < bottom:
                lifelines.append((name, at, bottom))
    for name, top, bottom in lifelines:
        c.path([(lanes[name], top), (lanes[name], bottom)], "line", arrow=False)
    return c


def serving():
    """LocalCollection.swift and SnapshotChoice.swift: the newest trusted state serves."""
    c = Canvas(960, 378, "Which state serves, and when", (
        "Five moments in the life of an app. First launch, offline: the packaged state A serves, as nothing is cached. After a "
        "sync: the server had B, which is cached and serves. Offline later: the server has C, the app still serves B from the "
        "cache. After an app update that packages C: C is newer than the cached B and serves without a sync. After the next "
        "sync: the server has D, which is cached and serves."))
    columns = ["first launch,|offline", "after a|sync", "offline|later", "after an app|update, offline", "after the|next sync"]
    rows = {"server": "ABCCD", "packaged": "AAACC", "cached": "-BBBD"}
    serves = {0: "packaged", 1: "cached", 2: "cached", 3: "packaged", 4: "cached"}
    left, width = 176, 152
    for index, heading in enumerate(columns):
        x = left + index * width + width / 2
        c.lines(x, 30, heading.split("|"), 13.5, 18, anchor="middle", bold=True)
    tops = {"server": 66, "packaged": 136, "cached": 206}
    marks = {"server": "on the server", "packaged": "packaged", "cached": "cached"}
    for name, states in rows.items():
        y = tops[name]
        c.text(22, y + 28, marks[name], 14, bold=True)
        start = 0
        while start < 5:
            end = start
            while end + 1 < 5 and states[end + 1] == states[start]:
                end += 1
            x1, x2 = left + start * width + 5, left + (end + 1) * width - 5
            if states[start] == "-":
                c.box(x1, y, x2 - x1, 44, "paper", "line", dashed=True)
                c.text((x1 + x2) / 2, y + 27, "nothing yet", 13, "soft", "middle")
            else:
                c.box(x1, y, x2 - x1, 44, "raised" if name != "server" else "wash", "rule")
                for at in range(start, end + 1):
                    x = left + at * width + width / 2
                    chosen = serves[at] == name
                    if chosen:
                        c.box(x - 40, y + 6, 80, 32, "good-wash", "good")
                    c.text(x, y + 27, states[start], 15, "good" if chosen else "soft", "middle", bold=chosen)
            start = end + 1
    c.path([(left + 5, 274), (left + 5 * width - 5, 274)], "rule")
    c.text(22, 278, "time", 13, "soft")
    c.text(22, 318, "getRecords", 14, bold=True)
    for at, name in serves.items():
        x = left + at * width + width / 2
        c.text(x, 312, rows[name][at], 17, "good", "middle", bold=True)
        c.text(x, 332, name, 13, "soft", "middle")
    c.text(22, 364, "A is the oldest state, D the newest. Of packaged and cached, the newer one that can be trusted serves.",
           12.5, "soft")
    return c
