"""filter_cases.py real DIR | filter_cases.py generated SEED COUNT: filters and their results in pyjexl, as JSON lines.

real: every filter_expression of the collections in DIR (Firefox's layout: */*.json) in many contexts. The first line contains the
contexts. Each record has one line {"expression", "results"}, with a letter per context: T true, F false, N another value, E an
error.
generated: one line {"context"}, then lines {"expression", "value"} of expressions within the common subset of pyjexl and
the filter language. An expression that pyjexl rejects is a bug in the generator, and stops it."""
import functools, glob, itertools, json, random, re, sys
from pyjexl import JEXL
from pyjexl.evaluator import Context, Evaluator

PART = re.compile(r"([+-]?\d+)?(\+?)([^0-9+-]*)([+-]?\d+)?(.*)$", re.S)
NO_TEXT = (1, "")


def part(text):
    if text == "*":
        return (2**31 - 1, NO_TEXT, 0, NO_TEXT)
    number, plus, middle, second, rest = PART.match(text).groups()
    if plus:
        return (int(number or 0) + 1, (0, "pre"), 0, NO_TEXT)
    has_middle = bool(middle or second or rest)
    return (int(number or 0), (0, middle) if has_middle else NO_TEXT, int(second or 0), (0, rest) if rest else NO_TEXT)


def version_compare(left, right=None, *_):
    if not isinstance(left, str) or not isinstance(right, str):
        return None
    for a, b in itertools.zip_longest(left.split("."), right.split("."), fillvalue=""):
        a, b = part(a), part(b)
        if a != b:
            return -1 if a < b else 1
    return 0


jexl = JEXL()
jexl.add_transform("versionCompare", version_compare)
jexl.add_transform("length", lambda v: len(v) if isinstance(v, list) else None)
jexl.add_transform("keys", lambda v: list(v) if isinstance(v, dict) else None)
jexl.add_transform("values", lambda v: list(v.values()) if isinstance(v, dict) else None)
jexl.add_transform("mapToProperty", lambda v, p: [e.get(p) for e in v] if isinstance(v, list) else None)
parse = functools.lru_cache(None)(jexl.parse)


def evaluate(expression, context):
    return Evaluator(jexl.config).evaluate(parse(expression), Context(context))


def real(directory):
    channels = ["default", "nightly", "beta", "release", "esr", None]
    versions = ["109.0", "110.0a1", "124.0", "133.0", "137.0.2", "138.0a1", "140.5.0", "148.0a1", "152.0", "153.0.3",
                "153.0.4", "153.0.5", "154.0a1", None]
    systems = ["iOS", "Android", "Linux", "Darwin", "WINNT", None]
    contexts = []
    for channel, version, system in itertools.product(channels, versions, systems):
        env = {"channel": channel, "version": version}
        env = {key: value for key, value in env.items() if value is not None}
        env["appinfo"] = {"OS": system} if system else {}
        contexts.append({"env": env})
    print(json.dumps(contexts))
    for path in sorted(glob.glob(directory + "/*/*.json")):
        for record in json.load(open(path, encoding="utf-8"))["data"]:
            expression = record.get("filter_expression")
            if not expression:
                continue
            letters = []
            for context in contexts:
                try:
                    value = evaluate(expression, context)
                    letters.append("T" if value is True else "F" if value is False else "N")
                except Exception:
                    letters.append("E")
            print(json.dumps({"expression": expression, "results": "".join(letters)}))


CONTEXT = {
    "n": 7, "m": 2.5, "z": 0, "big": 12345.75, "s": "hello", "t": "wörld 😀", "e": "", "yes": True, "no": False,
    "list": [3, 1, 2, 7], "words": ["hello", "a", "", "wörld 😀"], "none": [],
    "o": {"n": 7, "s": "hello", "list": [1, 2, 3], "deep": {"n": 1.25, "s": "x"}},
    "rows": [{"x": 1, "s": "a", "ok": True, "sub": {"y": 4}}, {"x": 5, "s": "hello", "ok": False, "sub": {"y": 0}},
             {"x": -3, "s": "", "ok": True, "sub": {"y": 7.5}}],
    "env": {"version": "128.5.0esr", "channel": "esr", "appinfo": {"OS": "Linux", "os": {"name": "linux"}}},
}
VERSIONS = ["1", "1.", "1.0", "1.0.0", "1.0pre", "1.0pre1", "1.0pre2", "1.0pre1a", "1.0pre10", "1.1pre", "1.1pre0",
            "1.0+", "1.*", "1.*.1", "*", "2", "1.-1", "110.0a1", "128.5.0esr", "128.5.0", "153.0.4", "0.9", "1.10", "1.9",
            "1.0a1", "1.0b1", "1.0b1pre", "a", "", ".", "1..1", "1.0.+", "10000000"]


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.in_row = False

    def pick(self, *choices):
        return self.rng.choice(choices)

    def space(self):
        return self.pick("", "", " ", " ", "  ", "\n", "\t ")

    def wrap(self, text):
        return "(" + self.space() + text + self.space() + ")"

    def number(self, depth):
        """Operators over atoms, mostly without parentheses, to test precedence. Numbers remain small, and the left side of % is
        never negative, where Python and JavaScript differ."""
        if depth <= 0 or self.rng.random() < 0.25:
            return self.atom(depth)
        signed = self.rng.random() < 0.5
        text = self.atom(depth - 1, signed)
        for _ in range(self.rng.randrange(1, 4)):
            operator = self.pick("+", "-", "*", "+", "-", "*", "/", "//", "^", "^" if signed else "%")
            if operator == "%":
                right = self.pick("11", "13")
            elif operator in ("/", "//"):
                right = self.pick("2", "3", "0.5", "7")
            elif operator == "^":
                right = self.pick("0", "1", "2", "3")
            else:
                right = self.atom(depth - 1, signed)
            text += self.space() + operator + " " + right
        return text

    def atom(self, depth, signed=True):
        choices = [lambda: str(self.rng.randrange(0, 20)), lambda: "%.2f" % self.rng.uniform(0, 9), lambda: "n",
                   lambda: "m", lambda: "o.n", lambda: "o.deep.n", lambda: "o['n']",
                   lambda: "list[%d]" % self.rng.randrange(4)]
        if signed:
            choices += [lambda: "-" + str(self.rng.randrange(0, 20)), lambda: "-%.1f" % self.rng.uniform(0, 9)]
            if self.in_row:
                choices += [lambda: ".x", lambda: ".sub.y"] * 2
        if depth > 0:
            choices += [lambda: self.array(depth - 1) + "|length", lambda: "rows[%s]|length" % self.row(depth - 1)]
            if signed:
                choices += [lambda: self.wrap(self.number(depth - 1)), lambda: self.wrap(self.comparison())]
        return self.rng.choice(choices)()

    def comparison(self):
        left = self.pick("env.version", *[json.dumps(version) for version in VERSIONS])
        return left + "|versionCompare(%s)" % json.dumps(self.pick(*VERSIONS))

    def row(self, depth):
        outer, self.in_row = self.in_row, True
        text = ".x" + self.space() + self.pick("<", ">", ">=", "<=", "==", "!=") + " " + self.atom(depth - 1)
        text = self.pick(text, ".ok", "!.ok", text + " && .ok", ".s == " + self.string(0), text + " || .sub.y > 1")
        self.in_row = outer
        return text

    def string(self, depth):
        if depth <= 0 or self.rng.random() < 0.5:
            word = self.pick("", "a", "hello", "ell", "wörld 😀", "0", "x y", "#no", "it's")
            quote = '"' if "'" in word or self.rng.random() < 0.5 else "'"
            return self.pick(quote + word + quote, "s", "t", "e", "o.s", "o.deep['s']", "env.channel", "words[1]",
                             "env.appinfo.OS", "env.appinfo.os.name")
        return self.wrap(self.string(depth - 1) + self.space() + "+" + self.space() + self.string(depth - 1))

    def array(self, depth):
        if depth > 0 and self.rng.random() < 0.6:
            kind = self.pick(self.number, self.string)
            items = [kind(depth - 1) for _ in range(self.rng.randrange(0, 4))]
            return "[" + self.space() + (self.space() + "," + self.space()).join(items) + self.space() + "]"
        return self.pick("list", "words", "none", "o.list", "rows|mapToProperty('x')", "o|keys", "o.deep|values")

    def test(self, depth):
        kind = self.rng.randrange(8)
        order = self.pick("<", ">", "<=", ">=", "==", "!=")
        if depth <= 0 or kind == 0:
            return self.pick("true", "false", "yes", "no", "!yes", "!!yes", "!n", "!e", "!z")
        if kind <= 2:
            return self.number(depth - 1) + self.space() + order + " " + self.number(depth - 1)
        if kind == 3:
            return self.string(depth - 1) + " " + self.pick(order, "in") + " " + self.string(depth - 1)
        if kind == 4:
            return self.string(depth - 1) + " in " + self.pick("words", "['a', 'hello']", "(o|keys)",
                                                                "rows|mapToProperty('s')")
        if kind == 5:
            return self.atom(depth - 1) + " in " + self.pick("list", "[1, 7, 2.5]", "o.list")
        if kind == 6:
            return self.pick("!", "!!", "") + self.wrap(self.test(depth - 1))
        return self.comparison() + " " + order + " 0"

    def logic(self, depth):
        text = self.test(depth)
        for _ in range(self.rng.randrange(0, 4)):
            right = self.pick(self.test, self.test, self.string)
            text += self.space() + self.pick("&&", "||") + self.space() + right(depth)
        return text

    def expression(self, depth):
        kind = self.rng.randrange(6)
        if kind == 0:
            return self.number(depth)
        if kind == 1 and depth > 0:
            return "%s ? %s : %s" % (self.logic(depth - 1), self.expression(depth - 1), self.expression(depth - 1))
        if kind == 2:
            return self.pick(self.array(depth), self.string(depth), "rows[%s]" % self.row(depth),
                             "{a: %s, b: {c: %s}}" % (self.number(depth - 1), self.string(0)), "missing", "o.missing")
        return self.logic(depth)


def generated(seed, count):
    generator = Generator(seed)
    print(json.dumps({"context": CONTEXT}))
    for _ in range(count):
        expression = generator.space() + generator.expression(3) + generator.space()
        try:
            value = evaluate(expression, CONTEXT)
        except Exception as error:
            sys.exit("pyjexl refuses %r: %r" % (expression, error))
        print(json.dumps({"expression": expression, "value": value}))


if __name__ == "__main__":
    if sys.argv[1] == "real":
        real(sys.argv[2])
    else:
        generated(int(sys.argv[2]), int(sys.argv[3]))
