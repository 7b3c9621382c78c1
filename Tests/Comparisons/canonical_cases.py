"""canonical_cases.py SEED COUNT [DIR | changes]: documents and their canonical form by canonicaljson-rs, one per line.

Each line is hex(document) TAB hex(canonical form), or hex(document) TAB ! if canonicaljson-rs rejects the document or
loses a part of it. With DIR, the collections found there come first (Firefox's layout: */*.json). With `changes`, each
document is a changeset's list of records, and the canonical form is the payload that the server signs at timestamp 1000."""
import glob, json, random, struct, sys
import canonicaljson

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)


class Duplicate(ValueError):
    pass


def unique(pairs):
    if len({k for k, _ in pairs}) != len(pairs):
        raise Duplicate
    return dict(pairs)


def expected(document):
    try:
        value = json.loads(document, object_pairs_hook=unique)
        # A lone surrogate in a key becomes U+FFFD, which loses data.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
        return canonicaljson.dumps(value).encode("ascii")
    except (Duplicate, TypeError, UnicodeEncodeError, OverflowError, ValueError):
        return None


def character():
    kind = rng.random()
    if kind < 0.45:
        return chr(rng.randrange(0x20, 0x7F))
    if kind < 0.6:
        return chr(rng.randrange(0x00, 0x20))
    if kind < 0.7:
        return chr(rng.randrange(0x7F, 0x800))
    if kind < 0.8:
        return chr(rng.choice([rng.randrange(0x800, 0xD800), rng.randrange(0xE000, 0x10000)]))
    if kind < 0.99:
        return chr(rng.randrange(0x10000, 0x110000))
    return chr(rng.randrange(0xD800, 0xE000))


def text(most=12):
    return "".join(character() for _ in range(rng.randrange(most)))


def number():
    kind = rng.random()
    if kind < 0.25:
        return str(rng.randrange(-1000, 1000))
    if kind < 0.45:
        power = rng.choice([31, 32, 53, 62, 63, 64, 65, 100])
        return str(rng.choice([-1, 1]) * (2**power + rng.randrange(-2, 3)))
    if kind < 0.6:
        return rng.choice(["-0", "0", "-0.0", "0.0", "1.0", "-1.50", "1e5", "1E+5", "1e-7", "10.0", "1e22", "1e23", "1E400",
                           "-1e400", "5e-324", "2e-324", "1.7976931348623157e308", "1.7976931348623159e308", "100e-2",
                           "9007199254740993.0", "0.1e1", "123456.789e3", "0.30000000000000004", "1e0"])
    if kind < 0.9:
        bits = struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))[0]
        return repr(bits) if bits == bits and abs(bits) != float("inf") else "1.5"
    return f"{rng.uniform(-1, 1):.{rng.randrange(1, 25)}f}e{rng.randrange(-330, 330)}"


def string():
    """A JSON string with some characters escaped in ways that the canonical form does not use."""
    out = ['"']
    for c in text():
        point = ord(c)
        if 0xD800 <= point < 0xE000:
            out.append(f"\\u{point:04X}")
        elif c in '"\\' or point < 0x20:
            out.append(json.dumps(c)[1:-1] if rng.random() < 0.5 else f"\\u{point:04x}")
        elif rng.random() < 0.3:
            out.append(json.dumps(c)[1:-1])
        elif c == "/" and rng.random() < 0.5:
            out.append("\\/")
        else:
            out.append(c)
    return "".join(out) + '"'


def space():
    return rng.choice(["", "", "", " ", "\n", "\t", "\r\n  "])


def value(depth=0):
    kind = rng.random()
    if depth > 4 or kind < 0.5:
        return rng.choice([string, string, number, number, lambda: "true", lambda: "false", lambda: "null"])()
    items = rng.randrange(6)
    if kind < 0.65:
        return "[" + ",".join(space() + value(depth + 1) + space() for _ in range(items)) + space() + "]"
    keys = [string() if rng.random() < 0.7 else json.dumps(rng.choice(["a", "ab", "b", "~", "z", "id", "é", "\uffff", "\U0001f600"]))
            for _ in range(items)]
    return "{" + ",".join(f"{space()}{k}{space()}:{space()}{value(depth + 1)}{space()}" for k in keys) + space() + "}"


def emit(document):
    canonical = expected(document)
    print(document.encode("utf-8").hex(), "!" if canonical is None else canonical.hex(), sep="\t")


def record(identifier):
    """A record. Some look as if an attachment was removed, or have `deleted` with various types."""
    members = [f'"id":"{identifier}"', f'"last_modified":{rng.randrange(1, 2000)}']
    if rng.random() < 0.5:
        members.append('"attachment":' + rng.choice(["null", "null", '{"location":"l","hash":"h"}', "{}", "[]"]))
    if rng.random() < 0.5:
        members.append('"deleted":' + rng.choice(["false", "false", "null", "true", '"true"', "1"]))
    members += [f'"{key}":{value(5)}' for key in rng.sample(["a", "attachments", "b", "delete", "é", "idx"], rng.randrange(4))]
    rng.shuffle(members)
    return "{" + space() + ("," + space()).join(members) + "}"


def emit_changes():
    names = rng.sample("abcdefgh", rng.randrange(1, 7))
    document = "[" + ",".join(record(name) for name in names) + "]"
    canonical = None
    if expected(document) is not None:    # a tombstone is read like a record, but is not signed
        kept = [each for each in json.loads(document) if each.get("deleted") is not True]
        kept.sort(key=lambda each: each["id"])
        canonical = expected(json.dumps({"data": kept, "last_modified": "1000"}))
    print(document.encode("utf-8").hex(), "!" if canonical is None else canonical.hex(), sep="\t")


if sys.argv[3:] == ["changes"]:
    for _ in range(count):
        emit_changes()
    sys.exit()
if len(sys.argv) > 3:
    for path in sorted(glob.glob(f"{sys.argv[3]}/*/*.json")):
        if not path.endswith(".meta.json"):
            emit(open(path, encoding="utf-8").read())
for _ in range(count):
    emit(space() + value() + space())
