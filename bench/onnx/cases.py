"""What is trained, exported and compared: embedded problems, one table with every kind of column, images."""

import random
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

QUICK = ["training.epochs=3"]


@dataclass
class Case:
    """A problem, and the data that its model is compared on."""

    name: str
    problem: str
    data: str
    set: list[str] = field(default_factory=list)
    # Marks of missing cells.
    missing: tuple[str, ...] = ("",)
    # A table of which `predict` refuses some rows.
    refused: str | None = None
    # Images: how they are found.
    images: str | None = None


EMBEDDED = ["adult", "adult-unconstrained", "adult-ace", "adult-pointwise"]
COMPAS = ["compas", "compas-unconstrained", "compas-7", "compas-paper"]


def embedded() -> list[Case]:
    adult = [Case(name, name, "adult-test.csv", QUICK) for name in EMBEDDED]
    return adult + [Case(name, name, "compas.csv", QUICK) for name in COMPAS]


COLUMNS = ["age", "hours", "gain", "rent", "colour", "sex", "city", "rare", "joined", "seen", "constant", "wealth", "kind", "price", "visits"]
HOURS = ["2023-01-05", "2024-02-29T23:59:59.5", "2021-12-31 12:30", "1999-06-01T00:00Z", "2000-02-29T08:15:00+02:00",
         "1980-11-11 01:00:00 -0530", "2024-12-31T23:00:00-03", "0001-01-01", "9999-12-31T23:59:60"]


def rows(count: int, seed: int) -> list[list[str]]:
    """A table with numbers, long tails, categories, dates and gaps."""
    draw = random.Random(seed)
    table = []
    for _ in range(count):
        age = draw.randint(18, 90)
        hours = round(draw.gauss(38, 12), 2)
        gain = 0 if draw.random() < 0.8 else round(draw.paretovariate(0.7) * 100, 2)
        rent = "" if draw.random() < 0.3 else f"{draw.uniform(200, 3000):.3f}"
        colour = draw.choice(["red", "green", "blue", "é🙂", ""])
        sex = draw.choice(["m", "f"])
        city = draw.choice(["Lyon", "Turin", "Oslo", "Bern", "Graz"])
        rare = draw.choice(["a"] * 40 + ["b"] * 40 + [f"r{n}" for n in range(30)])
        month, day = draw.randint(1, 12), draw.randint(1, 28)
        joined = "" if draw.random() < 0.1 else draw.choice([f"{draw.randint(1950, 2030)}-{month:02}-{day:02}", draw.choice(HOURS)])
        seen = f"2024-{month:02}-{day:02}"
        score = 0.04 * (age - 50) + (sex == "m") + 0.01 * (hours - 38) + (gain > 500) + draw.gauss(0, 1)
        wealth = "rich" if score > 0.8 else "poor"
        kind = ["x", "y", "z"][min(2, max(0, int(score + 1)))]
        price = 1000 * score + 250_000
        visits = min(20, int(2.718 ** min(3, max(-2, score))))
        table.append([age, hours, gain, rent, colour, sex, city, rare, joined, seen, "same", wealth, kind, f"{price:.2f}", visits])
    return [[str(cell) for cell in row] for row in table]


def write(path: Path, table: list[list[str]]) -> None:
    path.write_text("".join(",".join(row) + "\n" for row in [COLUMNS, *table]))


def odd(table: list[list[str]]) -> list[list[str]]:
    """Rows with what training did not have, all of which `predict` takes: unseen categories, numbers far away, at edges and missing."""
    changes = [("colour", "purple"), ("colour", ""), ("sex", "x"), ("city", "Paris"), ("rare", "never"), ("rare", "(other)"),
               ("age", "1e9"), ("age", "-5"), ("gain", "0"), ("gain", "1e300"), ("gain", "-1e308"), ("gain", ""), ("rent", ""),
               ("joined", ""), ("joined", "2100-03-01"), ("joined", "1900-02-28T24:00"[:10]), ("hours", "0.1"), ("hours", "40"),
               ("hours", "40.000000001"), ("hours", "20"), ("hours", ""), ("constant", "other"), ("age", "")]
    changes += [("joined", text) for text in HOURS]
    out = []
    for n, (column, cell) in enumerate(changes):
        row = list(table[n % len(table)])
        row[COLUMNS.index(column)] = cell
        out.append(row)
    return out


NO_DATES = ["2023-02-29", "2023-13-01", "0000-01-01", "2024-03-31T24:00", "2024-03-31T12:60", "2024-03-31T12:00+", "2024-03-31x",
            "2024-3-31", "31.03.2024", "2024-03-31T12:00 ", "2024-04-31", "2024-03-31T12:00:61", "1900-02-29", "text"]


def bad(table: list[list[str]]) -> list[list[str]]:
    """Rows that `predict` refuses where missing and unseen cells are rejected; each alone."""
    changes = [("joined", text.strip() or "x") for text in NO_DATES if text == text.strip()]
    changes += [("seen", ""), ("colour", ""), ("colour", "purple"), ("sex", "?"), ("age", ""), ("hours", ""), ("gain", ""),
                ("constant", "other"), ("constant", ""), ("age", "1e308")]
    out = []
    for n, (column, cell) in enumerate(changes):
        row = list(table[n % len(table)])
        row[COLUMNS.index(column)] = cell
        out.append(row)
    return out


TARGETS = ["wealth", "kind", "price", "visits"]


def problem(target: str, data: str, rest: str = "", file: str = "all.csv") -> str:
    drop = [name for name in TARGETS if name != target]
    return f"""[data]
file = "{file}"
target = "{target}"
drop = {drop}
split = {{ validation = 0.2, test = 0.2, seed = 0 }}
{data}
[training]
epochs = 12
{rest}
"""


ALLOWING = """missing = "impute"
missing_in = { rent = "category", colour = "category", joined = "category", gain = "impute" }
unseen = "other"
rare = 20
piecewise = ["gain", "rent"]
[data.bin]
hours = { edges = [20, 40] }
age = { quantiles = 5 }
[data.group.city]
South = ["Lyon", "Turin"]
"""

STRICT = """missing = "reject"
missing_in = { rent = "impute" }
unseen = "error"
piecewise = ["gain"]
[data.bin]
hours = { edges = [40] }
"""

MODELS = {
    "sigmoid": '[model]\nhidden = [16]\nactivation = "sigmoid"',
    "tanh": '[model]\nhidden = [16, 8]\nactivation = "tanh"',
    "relu": '[model]\nhidden = [32, 16, 8]\nactivation = "relu"',
    "silu": '[model]\nhidden = [8]\nactivation = "silu"',
    "linear": '[model]\nkind = "linear"',
    "rbf": '[model]\nkind = "kernel"\ncentres = 50',
    "polynomial": '[model]\nkind = "kernel"\ncentres = 50\ndegree = 3\noffset = 1.0',
}


def single(row: list[str]) -> bool:
    """Whether a row keeps its place in single precision."""
    return row[2] not in ("1e300", "-1e308") and row[1] != "40.000000001"


def tables(place: Path, double: bool) -> list[Case]:
    """Every kind of column with every kind of model, target and decision."""
    table = rows(2400, 1)
    # Strict problems see no gap, but in a column that is filled.
    whole = [row for row in table if row[COLUMNS.index("colour")] and row[COLUMNS.index("joined")]]
    write(place / "all.csv", table)
    write(place / "whole.csv", whole)
    write(place / "new.csv", [row for row in rows(400, 2) + odd(table) if double or single(row)])
    write(place / "strict.csv", [row for row in rows(400, 3) if row[4] and row[8] and row[7] in {r[7] for r in whole}])
    write(place / "bad.csv", bad(whole))
    cases = []

    def add(name: str, text: str, data: str, refused: str | None = None) -> None:
        (place / f"{name}.toml").write_text(text)
        cases.append(Case(name, f"{name}.toml", data, refused=refused))

    for name, model in MODELS.items():
        add(name, problem("wealth", ALLOWING, model), "new.csv")
    add("three-classes", problem("kind", ALLOWING), "new.csv")
    add("price", problem("price", ALLOWING), "new.csv")
    add("price-linear", problem("price", ALLOWING, MODELS["linear"]), "new.csv")
    add("visits", problem("visits", 'task = "regress"\n' + ALLOWING, '[objective]\nloss = "poisson"'), "new.csv")
    add("hinge", problem("wealth", ALLOWING, '[objective]\nloss = "hinge"'), "new.csv")
    add("logistic", problem("wealth", ALLOWING, '[objective]\nloss = "logistic"\n[decision]\nmaximise = "f1"'), "new.csv")
    add("threshold", problem("wealth", ALLOWING, '[decision]\nmaximise = "f1"'), "new.csv")
    add("thresholds", problem("wealth", ALLOWING, '[decision]\nmaximise = "balanced-accuracy"\nper = "city"'), "new.csv")
    add("other-thresholds", problem("wealth", 'columns = ["age", "sex"]\n', '[decision]\nper = "city"').replace(
        "drop = ['kind', 'price', 'visits']\n", ""), "new-plain.csv")
    write(place / "new-plain.csv", rows(400, 5))
    add("strict", problem("wealth", STRICT, file="whole.csv"), "strict.csv", refused="bad.csv")
    return cases


def png(path: Path, pixels: list[list[tuple[int, ...]]]) -> None:
    """An image of one or three channels."""
    channels = len(pixels[0][0])
    lines = b"".join(b"\0" + bytes(value for pixel in line for value in pixel) for line in pixels)
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


FASHION = """[data]
source = "fashion-mnist-sample"
per_class = { train = 20, validation = 5, test = 20 }
[model]
%s
[training]
epochs = 8
batch_size = 32
"""

FOLDER = """[data]
folder = "images"
split = { test = 0.5, seed = 0 }
[model]
%s
[training]
epochs = 100
"""


def images(place: Path) -> list[Case]:
    """Networks for images, on the embedded sample and on a folder in colour."""
    draw = random.Random(4)
    for name in ["dark", "light", "mixed"]:
        (place / "images" / name).mkdir(parents=True)
        for n in range(30):
            low, high = {"dark": (0, 120), "light": (130, 255), "mixed": (0, 255)}[name]
            pixel = lambda: tuple(draw.randint(low, high) for _ in range(3))
            png(place / "images" / name / f"{n:02}.png", [[pixel() for _ in range(13)] for _ in range(11)])
    cases = []
    for name, model in {
        "cnn": 'kind = "cnn"',
        "resnet18": 'kind = "resnet18"\nwidth = 8',
        "pixels": 'kind = "mlp"\nhidden = [16]',
        "pixels-linear": 'kind = "linear"',
    }.items():
        for kind, text in (("fashion", FASHION), ("folder", FOLDER)):
            file = f"{kind}-{name}.toml"
            (place / file).write_text(text % model)
            data = "fashion-mnist-sample" if kind == "fashion" else "images"
            cases.append(Case(f"{kind}-{name}", file, data, images=kind))
    return cases
