"""Trainings on 1, 2 and 4 ranks beside a model of what they cost, and what that model says of 64 machines. See docs/scale.md.

A step of a training with batches of B rows on R ranks takes, by the model,

    share · busy · late · (κ + β · shards + (α − δ) · rows + δ · B) + messages + 2 turn

seconds, of a rank's shards that have rows and the rows of the rank that has most; δ is what every rank does with all rows. Messages are a gradient and the sums of losses, up a tree of the
ranks and down again, L + bytes / W on each level. `share` ranks have a core between them. After its steps, an epoch measures all training and validation rows, μ for each row of a rank, and takes ω besides.

α, β, κ, μ and ω are fitted to trainings on one rank; `busy`, what such a training loses when as many as there are ranks run at the same time, beyond sharing cores, to those; L and W to a
ping-pong; `turn` and `late`, what is lost in waiting for a core or for a rank that is late, to a ping-pong in which every rank computes before each message: `turn` for
each time that ranks meet, `late` in proportion to what they compute. δ is measured. No training on several ranks is fitted to.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
WORK = BENCH / ".work" / "ranks"
# Every epoch that was timed.
RAW = BENCH / ".work" / "scaling.json"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"

SHARDS = 64
RANKS = (1, 2, 4)
# Name, hidden layers, rows of the table, epochs; batches that are fitted to, and those of the trainings that are predicted.
MODELS = [
    ("small", [64], 100_000, 8, [16, 64, 256, 1024, 4096], [256, 4096]),
    ("large", [256, 256], 20_000, 5, [16, 64, 256, 1024, 4096], [256, 4096]),
]
# A network, its seconds of latency and its bytes a second.
NETWORKS = [("10 Gb/s, 30 µs", 30e-6, 1.25e9), ("100 Gb/s, 2 µs", 2e-6, 12.5e9)]
MACHINES, MANY = 64, 1e9
# Sums of losses of this problem: for each shard, 3 numbers of 8 bytes for each of its terms.
SUMS = SHARDS * 24 * 9

PROBLEM = """[data]
file = "{table}"
target = "outcome"
positive = "yes"

[model]
kind = "mlp"
hidden = {hidden}

[[requirement]]
name = "equal opportunity"
fairness = "equal-opportunity"
groups = "gender"
within = 0.05

[training]
epochs = {epochs}
patience = 0
batch_size = {batch}
threads = 1
{training}

[report]
baseline = false
"""


def mpirun(ranks: int) -> list[str]:
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def environment() -> dict:
    # Containers often forbid what would save a copy.
    return {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", **os.environ}


class Scaling:
    def __init__(self, built: Path | None, repeat: int, cores: int):
        self.repeat, self.cores, self.round = repeat, cores, 0
        if built is None:
            built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target/mpi")) / "release"
            cargo = ["cargo", "build", "--release", "--locked", "--target-dir", str(built.parent)]
            for what in [["-p", "feasible-cli", "--features", "mpi", "--bin", "feasible", "--example", "ping_pong"], ["-p", "feasible-data", "--example", "large_table"]]:
                subprocess.run([*cargo, *what], check=True, cwd=ROOT)
        self.program, self.examples = built / "feasible", built / "examples"
        # Per (model, rows, batch, ranks, beside): the epochs that were timed.
        self.epochs: dict[tuple, list[dict]] = {}
        self.facts: dict[tuple, dict] = {}

    def table(self, rows: int) -> Path:
        path = WORK / f"{rows}.parquet"
        if not path.exists():
            subprocess.run([self.examples / "large_table", str(rows), path], check=True)
        return path

    def run(self, key: tuple) -> None:
        """Trains, several times at once if `beside` says so, and keeps the times of all epochs but the first."""
        name, rows, batch, ranks, beside = key
        hidden, epochs = next((hidden, epochs) for model, hidden, _, epochs, _, _ in MODELS if model == name)
        # One rank adds up as several do.
        jobs = []
        for at in range(beside):
            problem, run = WORK / f"problem-{at}.toml", WORK / f"run-{at}"
            problem.write_text(PROBLEM.format(table=self.table(rows).name, hidden=hidden, epochs=epochs, batch=batch, training="shards = true"))
            command = [*mpirun(ranks), self.program, "fit", problem, "-o", run, "--force", "-q", "--no-report"]
            jobs.append((run, subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)))
        for _, job in jobs:
            if job.wait() not in (0, 1):
                raise SystemExit(f"{' '.join(map(str, job.args))} ended with status {job.returncode}")
        for run, _ in jobs:
            times = [json.loads(line) for line in (run / "timings.jsonl").read_text().splitlines()]
            for before, epoch in zip(times, times[1:]):
                epoch |= {"whole": epoch["elapsed"] - before["elapsed"], "round": self.round}
                self.epochs.setdefault(key, []).append(epoch)
            summary = json.loads((run / "summary.json").read_text())
            self.facts[key] = {"rows": summary["train"]["rows"], "validation": summary["validation"]["rows"], "parameters": summary["parameters"]}

    def take(self, key: tuple, what: str) -> float:
        """Of the epochs of some trainings: the least, since others on the machine can only add to it."""
        epochs = self.epochs[key]
        read = (lambda epoch: epoch["ranks"][what]) if what in ("messages", "bytes", "waited") else (lambda epoch: epoch[what])
        return min([read(epoch) for epoch in epochs])

    def said(self, ranks: int) -> list[dict]:
        job = subprocess.run([*mpirun(ranks), self.examples / "ping_pong"], env=environment(), check=True, capture_output=True, text=True)
        return list(map(json.loads, job.stdout.splitlines()))

    def ping_pong(self, ranks: int) -> dict[str, list[tuple[int, float]]]:
        """Bytes, and seconds of adding them up and telling the sum; iterations that every rank computes first, and seconds of both."""
        found: dict[str, dict[int, list[float]]] = {"bytes": {}, "iterations": {}}
        for _ in range(self.repeat):
            for line in self.said(ranks):
                what = "bytes" if "bytes" in line else "iterations"
                found[what].setdefault(line[what], []).append(line["seconds"])
        return {what: [(size, min(seconds)) for size, seconds in sorted(of.items())] for what, of in found.items()}


def repeated(scaling: Scaling, keys: list) -> str:
    """How far the same measurement is from itself: nothing can be predicted more closely."""
    if scaling.repeat < 2:
        return ""
    apart = []
    for key in dict.fromkeys(keys):
        halves = [min([epoch["whole"] for epoch in scaling.epochs[key] if epoch["round"] % 2 == half]) for half in (0, 1)]
        apart.append(max(halves) / min(halves) - 1)
    return f"Even and odd rounds of the same training differ by {100 * statistics.median(apart):.0f} % (median), by up to {100 * max(apart):.0f} %."


def least_squares(rows: list[list[float]], times: list[float]) -> list[float]:
    """Factors, none of them negative, whose sums come nearest to the times, relative to them."""
    used = list(range(len(rows[0])))
    while True:
        scaled = [[row[at] / time for at in used] for row, time in zip(rows, times)]
        size = len(used)
        system = [[sum(row[i] * row[j] for row in scaled) for j in range(size)] + [sum(row[i] for row in scaled)] for i in range(size)]
        for i in range(size):
            pivot = max(range(i, size), key=lambda at: abs(system[at][i]))
            system[i], system[pivot] = system[pivot], system[i]
            for j in range(size):
                if j != i:
                    factor = system[j][i] / system[i][i]
                    system[j] = [a - factor * b for a, b in zip(system[j], system[i])]
        found = [system[i][size] / system[i][i] for i in range(size)]
        if min(found) >= 0:
            factors = [0.0] * len(rows[0])
            for at, factor in zip(used, found):
                factors[at] = factor
            return factors
        used.pop(found.index(min(found)))


def batches(rows: int, batch: int) -> list[int]:
    """The sizes of the batches of an epoch."""
    return [batch] * (rows // batch) + ([rows % batch] if rows % batch else [])


def most(batch: int, ranks: int) -> float:
    """Rows of the rank that has most of a batch, on average: rows fall to ranks by a hash."""
    # The largest of so many normal numbers (Blom).
    largest = statistics.NormalDist().inv_cdf((ranks - 0.375) / (ranks + 0.25)) if ranks > 1 else 0.0
    return min(batch, batch / ranks + largest * math.sqrt(batch * (ranks - 1)) / ranks)


def shards(batch: int, ranks: int) -> float:
    """Shards of a rank that have rows of a batch, on average."""
    return SHARDS / ranks * (1 - (1 - 1 / SHARDS) ** batch)


def steps(rows: int, batch: int, ranks: int) -> list[float]:
    """What the steps of an epoch consist of on one rank: steps, shards, rows."""
    sizes = batches(rows, batch)
    return [len(sizes), sum(shards(size, ranks) for size in sizes), sum(most(size, ranks) for size in sizes)]


class Wire:
    """What it costs ranks to meet."""

    def __init__(self, latency: float, bandwidth: float, turn: float = 0.0, late: float = 1.0):
        self.latency, self.bandwidth, self.turn, self.late = latency, bandwidth, turn, late

    @staticmethod
    def fitted(ranks: int, cores: int, found: dict, iteration: float) -> "Wire":
        """To a ping-pong, with and without computing."""
        levels = 2 * math.ceil(math.log2(ranks))
        latency, slope = least_squares([[levels, levels * size] for size, _ in found["bytes"]], [seconds for _, seconds in found["bytes"]])
        # What was measured of the shortest message, not what the line says of it.
        message = found["bytes"][0][1]
        computed = [max(1.0, ranks / cores) * iteration * count for count, _ in found["iterations"]]
        beyond = [max(seconds - message, own) for (_, seconds), own in zip(found["iterations"], computed)]
        turn, late = least_squares([[1.0, own] for own in computed], beyond)
        return Wire(latency, 1 / slope if slope else math.inf, turn, max(1.0, late))


class Cost:
    """The fitted model of one network's trainings."""

    def __init__(self, scaling: Scaling, name: str, look: float):
        self.look = look
        _, hidden, table, _, fitted, _ = next(model for model in MODELS if model[0] == name)
        keys = [(name, table, batch, 1, 1) for batch in fitted]
        self.parameters, rows = scaling.facts[keys[0]]["parameters"], scaling.facts[keys[0]]["rows"]
        whats = [steps(rows, key[2], 1) for key in keys]
        self.step, self.shard, self.row = least_squares(whats, [scaling.take(key, "primal") for key in keys])
        self.measured = min([scaling.take(key, "dual") for key in keys]) / rows
        rest = [scaling.take(key, "whole") - scaling.take(key, "primal") - scaling.take(key, "dual") for key in keys]
        self.validation = scaling.facts[keys[0]]["validation"] / rows
        self.rest = max(0.0, min(rest) - self.measured * self.validation * rows)
        # Per number of ranks, from as many trainings at the same time: what they lose beyond sharing cores.
        self.busy = {1: 1.0}
        for ranks in RANKS[1:]:
            crowd = [key for key in scaling.epochs if key[0] == name and key[4] == ranks]
            slower = statistics.median(scaling.take(key, "whole") / scaling.take((*key[:4], 1), "whole") for key in crowd)
            self.busy[ranks] = max(1.0, slower / max(1.0, ranks / scaling.cores))
        # Multiply and add, forward and twice backward, for every weight.
        self.flops = 6 * self.parameters

    def epoch(self, rows: int, batch: int, ranks: int, cores: int | None, wire: Wire) -> tuple[float, float]:
        """Seconds of computing, and of messages and waiting, on ranks that share some cores; without a number of cores, each has a machine like this one."""
        # Cores that two ranks share work for both.
        share, busy = max(1.0, ranks / cores) if cores else 1.0, self.busy[ranks if cores else min(ranks, 2)]
        count, of_shards, _ = steps(rows, batch, ranks)
        of_rows = sum(most(size, min(ranks, cores or ranks)) for size in batches(rows, batch)) / share
        divided = self.shard * of_shards + (self.row - self.look) * of_rows + self.measured * (1 + self.validation) * rows / ranks
        messages = count * (up_and_down(4 * self.parameters, wire, ranks) + gathered(SUMS, wire, ranks))
        computing = share * busy * (divided + self.step * count + self.look * rows)
        # Ranks meet twice in a step: for the sums of losses, and for the gradient.
        return computing + self.rest, messages + (wire.late - 1) * computing + 2 * wire.turn * count


def up_and_down(size: float, wire: Wire, ranks: int) -> float:
    """Seconds that so many bytes take up a tree of ranks and down again."""
    return 2 * math.ceil(math.log2(ranks)) * (wire.latency + size / wire.bandwidth)


def gathered(size: float, wire: Wire, ranks: int) -> float:
    """Seconds until all ranks know so many bytes, of which each has a part: parts go up the tree, all of them down."""
    levels = math.ceil(math.log2(ranks))
    return 2 * levels * wire.latency + (levels + (ranks - 1) / ranks) * size / wire.bandwidth


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f}" if seconds >= 99.5e-6 else f"{1e6 * seconds:.3g}"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |", *("| " + " | ".join(row) + " |" for row in rows), ""]


def measure(scaling: Scaling) -> list[str]:
    """All of it, as the lines of a page."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    load = os.getloadavg()[1]
    fits, crowds = [], []
    for name, _, rows, _, fitted, batches in MODELS:
        fits += [(name, rows, batch, 1, 1) for batch in fitted]
        crowds += [(name, rows, batch, 1, beside) for batch in batches for beside in RANKS[1:]]
    every = list(dict.fromkeys(fits + crowds + sum(predicted(), [])))
    pings: dict[int, dict] = {}
    try:
        alone = [line for _ in range(scaling.repeat) for line in scaling.said(1)]
        look, iteration = (min(line[what] for line in alone) for what in ("row", "iteration"))
        for ranks in RANKS[1:]:
            pings[ranks] = scaling.ping_pong(ranks)
        # One after the other, again and again: what comes and goes on the machine meets all of them.
        for again in range(scaling.repeat):
            scaling.round = again
            for key in every:
                scaling.run(key)
            print(f"{again + 1} of {scaling.repeat} rounds of trainings", flush=True)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    load = max(load, os.getloadavg()[1])
    trainings = [{"key": key, "epochs": epochs, "facts": scaling.facts[key]} for key, epochs in scaling.epochs.items()]
    RAW.write_text(json.dumps({"trainings": trainings, "pings": pings, "look": look, "iteration": iteration, "load": load, "repeat": scaling.repeat, "cores": scaling.cores}))
    return again()


def again() -> list[str]:
    """The page of what was measured last."""
    raw = json.loads(RAW.read_text())
    scaling = Scaling(Path(), raw["repeat"], raw["cores"])
    for training in raw["trainings"]:
        key = tuple(training["key"])
        scaling.epochs[key], scaling.facts[key] = training["epochs"], training["facts"]
    strong, weak = predicted()
    return page(scaling, raw["look"], raw["iteration"], {int(ranks): found for ranks, found in raw["pings"].items()}, strong, weak, raw["load"])


def predicted() -> tuple[list[tuple], list[tuple]]:
    """Trainings of the same rows and batches on more ranks, and of rows and batches that grow with the ranks."""
    strong, weak = [], []
    for name, _, rows, _, _, batches in MODELS:
        strong += [(name, rows, batch, ranks, 1) for batch in batches for ranks in RANKS]
        weak += [(name, rows * ranks, batches[0] * ranks, ranks, 1) for ranks in RANKS]
    return strong, weak


def page(scaling: Scaling, look: float, iteration: float, pings: dict, strong: list, weak: list, load: float) -> list[str]:
    cores = scaling.cores
    costs = {name: Cost(scaling, name, look) for name, *_ in MODELS}
    # One rank sends nothing.
    wires = {1: Wire(0.0, math.inf)}
    for ranks, found in pings.items():
        wires[ranks] = Wire.fitted(ranks, cores, found, iteration)

    out = [f"Measured on {cores} cores, with a load of up to {load:.1f} (these trainings are part of it), {scaling.repeat} times each; of all epochs the least. {repeated(scaling, strong + weak)}", ""]
    out += ["### Fitted", ""]
    rows = []
    for name, cost in costs.items():
        rows.append([name, f"{cost.parameters:,}", micro(cost.row), f"{cost.flops / cost.row / 1e9:.1f}" if cost.row else "", micro(cost.shard), micro(cost.step), micro(cost.measured), f"{1e3 * cost.rest:.2g}", *(f"{cost.busy[ranks]:.2f}" for ranks in RANKS[1:])])
    out += table(["model", "parameters p", "α, µs a row", "that is, Gflop/s", "β, µs a shard", "κ, µs a step", "μ, µs a row measured", "ω, ms an epoch", *(f"busy, {ranks} ranks" for ranks in RANKS[1:])], rows)
    rows = []
    for ranks, found in pings.items():
        wire = wires[ranks]
        worst = max(abs(up_and_down(size, wire, ranks) / seconds - 1) for size, seconds in found["bytes"])
        rows.append([str(ranks), micro(wire.latency), f"{wire.bandwidth / 1e9:.2f}", f"{100 * worst:.0f} %", micro(wire.turn), f"{wire.late:.2f}"])
    out += table(["ranks", "L, µs a message", "W, GB/s", "largest error, 4 B to 4 MB", "turn, µs", "late"], rows)
    out += [f"δ is {1e9 * look:.1f} ns a row.", ""]

    errors = []
    for title, keys in [("Strong scaling: the same rows and batches on more ranks", strong), ("Weak scaling: rows and batches grow with the ranks", weak)]:
        rows, alone = [], {}
        for key in keys:
            name, _, batch, ranks, _ = key
            trained = scaling.facts[key]["rows"]
            computing, messages = costs[name].epoch(trained, batch, ranks, cores, wires[ranks])
            whole, predicted = scaling.take(key, "whole"), computing + messages
            alone[name, batch if keys is strong else 0] = alone.get((name, batch if keys is strong else 0), whole)
            error = predicted / whole - 1
            if ranks > 1:
                errors.append((abs(error), ranks))
            count = len(batches(trained, batch))
            grown = 1 if keys is strong else ranks
            speed = grown * alone[name, batch if keys is strong else 0] / whole
            sent = [f"{scaling.take(key, 'messages') / count:.2f}", f"{scaling.take(key, 'bytes') / count:,.0f}", f"{100 * scaling.take(key, 'waited') / whole:.0f} %", f"{100 * messages / predicted:.0f} %"] if ranks > 1 else ["", "", "", ""]
            rows.append([name, f"{trained:,}", f"{batch:,}", str(ranks), f"{1e3 * whole:.1f}", f"{1e3 * predicted:.1f}", f"{100 * error:+.0f} %", f"{speed:.2f}", *sent])
        head = ["model", "rows", "batch", "ranks", "ms an epoch", "predicted", "error", "rows a second, times one rank's", "messages a step of rank 0", "bytes a step of rank 0", "of the time waited or sent", "predicted"]
        out += [f"### {title}", "", *table(head, rows)]
    two = [error for error, ranks in errors if ranks <= cores]
    more = [error for error, ranks in errors if ranks > cores]
    within = lambda found: f"{sum(error <= 0.2 for error in found)} of {len(found)} within 20 %, the largest error {100 * max(found):.0f} %"
    out += [f"Predicted, of those that were not fitted to: on 2 ranks {within(two)}; on 4 ranks, which share {cores} cores, {within(more)}.", ""]
    out += paper(costs, wires[2].bandwidth)
    return out


def paper(costs: dict, copies: float) -> list[str]:
    """What the model says of many machines."""
    out = [f"### On paper: {MACHINES} machines, {MANY:,.0f} rows".replace(",000,000,000", "⁹").replace("1⁹", "10⁹"), ""]
    rows, gains, best = [], [], []
    for network, latency, wire in NETWORKS:
        # A byte is copied and added here as it was in the ping-pong, and crosses the wire besides.
        bandwidth = 1 / (1 / wire + 1 / copies)
        for name, cost in costs.items():
            for batch in (1024, 16_384, 262_144):
                many = int(MANY // batch)
                at = {ranks: [part / many for part in cost.epoch(many * batch, batch, ranks, None, Wire(latency, bandwidth))] for ranks in (1, 2, 4, 8, 16, 32, 64)}
                alone, (computing, messages) = sum(at[1]), at[MACHINES]
                fastest = min(at, key=lambda ranks: sum(at[ranks]))
                speed = alone / (computing + messages)
                epoch = MANY / batch * (computing + messages)
                rows.append([network, name, f"{batch:,}", micro(computing), micro(messages), f"{MANY / batch * alone / 3600:.2g}", f"{epoch / 3600:.2g}", f"{speed:.1f}", f"{100 * speed / MACHINES:.0f} %", f"{fastest} ({alone / sum(at[fastest]):.1f})"])
                size, whole = 4 * cost.parameters, computing + messages
                gradient = up_and_down(size, Wire(latency, bandwidth), MACHINES)
                quarter = gradient - up_and_down(size, Wire(latency, 1 / (0.25 / wire + 1 / copies)), MACHINES)
                parts = gradient - 2 * 6 * latency - 2 * size / bandwidth
                gains.append([network, name, f"{batch:,}", f"{100 * messages / whole:.0f} %", f"{100 * quarter / whole:.0f} %", f"{100 * 0.875 * messages / whole:.0f} %", f"{100 * parts / whole:.0f} %"])
    out += table(["network", "model", "batch", "computing, µs a step", "messages, µs a step", "hours an epoch on 1", f"on {MACHINES}", "speed-up", "efficiency", "fastest on (speed-up)"], rows)
    out += [f"What a step on {MACHINES} machines would save, of its time:", ""]
    out += table(["network", "model", "batch", "messages at all", "gradients in a quarter of the bytes", "8 local steps, then an average", "each rank adding up its part of the gradient"], gains)
    return out


def ranks(built: Path | None, repeat: int, into: Path | None, cores: int, last: bool) -> None:
    text = "\n".join(again() if last else measure(Scaling(built, repeat, cores))).rstrip()
    print(text)
    if into:
        before, rest = into.read_text().split(BEGIN)
        into.write_text(before + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END)[1])
