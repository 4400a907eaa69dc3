"""Steps of ResNet18 in PyTorch: forward, a step of an attack, a training step, an adversarial step.

    python bench/peers/conv_step.py [width] [batch] [threads] [rounds] [--contiguous] [--json]

The same steps as `bench/kernels/src/bin/conv_steps.rs`: 28×28 images of one channel, denormals
flushed, channels last unless told otherwise. `bench/conv` runs both in turn.
"""
import argparse
import json
import resource
import time

import torch

from resnet import ResNet18

EPSILON, STEPS = 0.1, 5

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
for name, default in (("width", 16), ("batch", 128), ("threads", 1), ("rounds", 12)):
    parser.add_argument(name, type=int, nargs="?", default=default)
parser.add_argument("--contiguous", action="store_true", help="channels first")
parser.add_argument("--json", action="store_true")
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
torch.manual_seed(1)

layout = torch.contiguous_format if args.contiguous else torch.channels_last
model = ResNet18(width=args.width).to(memory_format=layout)
x = torch.rand(args.batch, 1, 28, 28).contiguous(memory_format=layout)
y = torch.arange(args.batch) % 10
loss = torch.nn.functional.cross_entropy


def forward():
    model.eval()
    with torch.no_grad():
        model(x)


def attack(start=x):
    model.eval()
    at = start.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(loss(model(at), y), at)
    return gradient


def train():
    model.train()
    model.zero_grad(set_to_none=True)
    loss(model(x), y).backward()


def adversarial():
    at = x
    with torch.no_grad():
        low, high = (x - EPSILON).clamp_(min=0), (x + EPSILON).clamp_(max=1)
    for _ in range(STEPS):
        gradient = attack(at)
        with torch.no_grad():
            at = torch.clamp(at + (2 * EPSILON / STEPS) * gradient.sign(), low, high)
    model.train()
    model.zero_grad(set_to_none=True)
    (loss(model(x), y) + loss(model(at), y)).backward()


steps = (forward, attack, train, adversarial)
times, cpu = ({f.__name__: [] for f in steps} for _ in range(2))
for turn in range(args.rounds + 1):
    for f in steps:
        start, before = time.perf_counter(), time.process_time()
        f()
        if turn > 0:
            times[f.__name__].append(time.perf_counter() - start)
            cpu[f.__name__].append(time.process_time() - before)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
if args.json:
    print(json.dumps({"seconds": times, "cpu": cpu, "memory, MB": memory, "torch": torch.__version__}))
else:
    print(layout, f"{args.threads} thread(s), shortest of {args.rounds}")
    for name, seconds in times.items():
        print(f"{name:<12} {1e3 * min(seconds):8.2f} ms")
    print(f"most memory: {memory:.0f} MB")
