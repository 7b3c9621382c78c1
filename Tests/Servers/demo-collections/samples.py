"""The sample collections as a folder of dumps. Three are files beside this one, two are generated.

Nothing here comes from Mozilla, and nothing depends on random numbers or on the clock.
"""
import hashlib
import json
import math
import pathlib

HERE = pathlib.Path(__file__).parent
BY_HAND = ("settings", "markets", "search-hints")
NAMES = ("main/settings", "main/markets", "main/icons", "main/search-hints", "main/large")


def svg(number):
    """An icon of `number` petals."""
    petals = "".join(
        f'<ellipse cx="{16 + 8 * math.cos(angle):.2f}" cy="{16 + 8 * math.sin(angle):.2f}" rx="5" ry="2.5" '
        f'transform="rotate({math.degrees(angle):.1f} {16 + 8 * math.cos(angle):.2f} {16 + 8 * math.sin(angle):.2f})"/>'
        for angle in (2 * math.pi * petal / number for petal in range(number)))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="hsl({number * 17 % 360} 60% 45%)">'
            f"<title>{number} petals</title>{petals}</svg>\n").encode()


def icons(folder):
    """Returns twenty records with an attachment each, and writes the files beside the dump."""
    records = []
    for number in range(3, 23):
        content, identifier = svg(number), f"petals-{number:02}"
        (folder / identifier).write_bytes(content)
        records.append({
            "id": identifier,
            "last_modified": 1760000300000 + number * 1000,
            "petals": number,
            "attachment": {
                "filename": f"{identifier}.svg",
                "hash": hashlib.sha256(content).hexdigest(),
                "location": f"main-workspace/icons/{identifier}.svg",
                "mimetype": "image/svg+xml",
                "size": len(content),
            },
        })
    return {"timestamp": records[-1]["last_modified"], "metadata": {"attachment": {"bundle": True}}, "data": records}


def large(count=1500):
    words = ("amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "harbour", "inlet", "juniper")
    records = []
    for number in range(count):
        digest = hashlib.sha256(f"large {number}".encode())
        pick = digest.digest()
        records.append({
            "id": f"{digest.hexdigest()[:8]}-{number:04}",
            "last_modified": 1760001000000 + number,
            "title": " ".join(words[byte % len(words)] for byte in pick[:4]),
            "position": {"latitude": (pick[4] - 128) / 2, "longitude": pick[5] + pick[6] / 256},
            "tags": sorted({words[byte % len(words)] for byte in pick[7:12]}),
            "rank": int.from_bytes(pick[12:16], "big"),
            "checked": pick[16] % 2 == 0,
            "replaces": None,
        })
    return {"timestamp": 1760001000000 + count, "data": records}


def write(folder):
    """Writes all sample collections into `folder`, which a test server can load."""
    main = pathlib.Path(folder) / "main"
    (main / "icons").mkdir(parents=True, exist_ok=True)
    dumps = {name: json.loads((HERE / f"{name}.json").read_bytes()) for name in BY_HAND}
    dumps["icons"], dumps["large"] = icons(main / "icons"), large()
    for name, dump in dumps.items():
        (main / f"{name}.json").write_text(json.dumps(dump))
