"""An SVG that adapts to light and dark by itself, and cannot be written if a text overlaps something."""
from xml.sax.saxutils import escape

SANS = 'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans","Liberation Sans",sans-serif'
MONO = 'ui-monospace,SFMono-Regular,"Cascadia Mono","Noto Sans Mono","DejaVu Sans Mono","Liberation Mono",Menlo,monospace'
# The colours of the page of rsdump serve: in light, in dark.
COLOURS = {
    "paper": ("#faf9f5", "#15181b"), "raised": ("#ffffff", "#1c2024"), "ink": ("#23282d", "#e6e3db"),
    "soft": ("#5a6168", "#a6acb2"), "line": ("#dedad0", "#343a40"), "rule": ("#8d9399", "#70777e"),
    "accent": ("#0a5a6e", "#86c9da"), "wash": ("#e3eeef", "#1f2f35"), "good": ("#1b6438", "#8ad3a2"),
    "good-wash": ("#e5f1e8", "#1a2e22"), "care": ("#7a4a00", "#e6bd6e"), "care-wash": ("#f8edd8", "#322813"),
    "bad": ("#9b1f1b", "#f39b93"), "bad-wash": ("#fae6e4", "#381e1d"),
}
# The widths in em of the characters of DejaVu Sans, the widest font of SANS. Other characters have 0.64.
WIDTHS = {
    **dict.fromkeys("ijl|'", 0.29), **dict.fromkeys(" .,:;!·", 0.33), **dict.fromkeys("ftrI()[]-/\"", 0.41),
    **dict.fromkeys("acegkosvxyzJ", 0.6), **dict.fromkeys("mMW%@", 0.97), **dict.fromkeys("wNOQDGHU→←×", 0.83),
}
MONO_WIDTH = 0.61


def text_width(text, size, bold=False, mono=False):
    """The most that a text is wide in the named fonts."""
    em = len(text) * MONO_WIDTH if mono else sum(WIDTHS.get(character, 0.64) for character in text)
    return em * size * (1.1 if bold and not mono else 1)


def number(value):
    """A coordinate with at most one digit after the point."""
    return f"{value:.1f}".removesuffix(".0")


class Canvas:
    def __init__(self, width, height, title, description):
        self.width, self.height, self.title, self.description = width, height, title, description
        self.parts, self.texts, self.segments = [], [], []
        self.used = set()

    def paint(self, colour, kind="fill"):
        """The class that gives a shape this colour in both schemes."""
        self.used.add((colour, kind))
        return f"{kind[0]}-{colour}"

    def box(self, x, y, width, height, fill="raised", stroke="rule", radius=7, dashed=False):
        classes = [self.paint(fill)] + ([self.paint(stroke, "stroke")] if stroke else [])
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{radius}" '
            f'class="{" ".join(classes)}"{dash}/>')

    def text(self, x, y, text, size=14, colour="ink", anchor="start", bold=False, mono=False, fits=None):
        """A line of text with its baseline at y. It must not be wider than `fits`."""
        width = text_width(text, size, bold, mono)
        left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
        if fits is not None and width > fits:
            raise ValueError(f"{self.title}: {text!r} takes {width:.0f}, and has {fits:.0f}")
        self.texts.append((left, y - 0.76 * size, left + width, y + 0.23 * size, text))
        options = f' text-anchor="{anchor}"' if anchor != "start" else ""
        options += ' font-weight="600"' if bold else ""
        family = " m" if mono else ""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" class="{self.paint(colour)}{family}"{options}>'
            f"{escape(text)}</text>")

    def cells(self, x, y, text, size, colour="ink", bold=False):
        """Text of a terminal, as wide in any font as its cells."""
        width = len(text) * MONO_WIDTH * size
        self.texts.append((x, y - 0.76 * size, x + width, y + 0.23 * size, text))
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" class="{self.paint(colour)} m" '
            f'textLength="{number(width)}" lengthAdjust="spacingAndGlyphs"{weight}>{escape(text)}</text>')

    def lines(self, x, y, texts, size=14, step=None, **options):
        for index, text in enumerate(texts):
            self.text(x, y + index * (step or size * 1.4), text, size, **options)

    def labelled(self, x, y, width, height, heading, texts=(), fill="raised", stroke="rule", mono=False, size=12.5):
        """A box with a heading and lines below it, all centred."""
        self.box(x, y, width, height, fill, stroke)
        step = size * 1.4
        top = y + (height - 17 - step * len(texts)) / 2 + 14
        self.text(x + width / 2, top, heading, 14.5, anchor="middle", bold=True, mono=mono, fits=width - 10)
        for index, text in enumerate(texts):
            self.text(x + width / 2, top + 4 + step * (index + 1), text, size, "soft", "middle", fits=width - 10)

    def path(self, points, colour="rule", arrow=True, dashed=False, width=1.6):
        """Straight lines from point to point, with an arrowhead at the last."""
        self.segments += list(zip(points, points[1:]))
        (x1, y1), (x2, y2) = points[-2:]
        line = list(points)
        if arrow:
            length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
            dx, dy = (x2 - x1) / length, (y2 - y1) / length
            line[-1] = (x2 - 6 * dx, y2 - 6 * dy)
            head = [(x2, y2), (x2 - 9 * dx - 4.5 * dy, y2 - 9 * dy + 4.5 * dx), (x2 - 9 * dx + 4.5 * dy, y2 - 9 * dy - 4.5 * dx)]
            self.parts.append(
                f'<path d="M{"L".join(f"{number(x)} {number(y)}" for x, y in head)}Z" class="{self.paint(colour)}"/>')
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<path d="M{"L".join(f"{number(x)} {number(y)}" for x, y in line)}" fill="none" stroke-width="{width}" '
            f'class="{self.paint(colour, "stroke")}"{dash}/>')

    def problems(self):
        for left, top, right, bottom, text in self.texts:
            if left < 2 or top < 2 or right > self.width - 2 or bottom > self.height - 2:
                yield f"{text!r} leaves the picture"
        for index, one in enumerate(self.texts):
            for other in self.texts[index + 1:]:
                if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]:
                    yield f"{one[4]!r} overlaps {other[4]!r}"
            for (x1, y1), (x2, y2) in self.segments:
                # A line that is neither vertical nor horizontal is a curve of a chart, whose labels are beside its end.
                if x1 != x2 and y1 != y2:
                    continue
                if min(x1, x2) < one[2] and max(x1, x2) > one[0] and min(y1, y2) < one[3] and max(y1, y2) > one[1]:
                    yield f"a line crosses {one[4]!r}"

    def svg(self):
        problems = list(self.problems())
        if problems:
            raise ValueError(f"{self.title}: {'; '.join(problems)}")
        styles = {scheme: "".join(
            f".{kind[0]}-{colour}{{{kind}:{COLOURS[colour][scheme]}}}" for colour, kind in sorted(self.used | {("paper", "fill")}))
            for scheme in (0, 1)}
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(self.width)} {number(self.height)}" '
            f'width="{number(self.width)}" height="{number(self.height)}" role="img" aria-labelledby="title desc">\n'
            f'<title id="title">{escape(self.title)}</title>\n<desc id="desc">{escape(self.description)}</desc>\n'
            f"<style>text{{font-family:{SANS};white-space:pre}}.m{{font-family:{MONO}}}{styles[0]}"
            f"@media(prefers-color-scheme:dark){{{styles[1]}}}</style>\n"
            f'<rect width="100%" height="100%" rx="10" class="f-paper"/>\n' + "\n".join(self.parts) + "\n</svg>\n")
