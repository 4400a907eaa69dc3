"""A training step, a step of an attack and both epochs of ResNet18 in PyTorch, channels last.

    python bench/peers/conv_step.py [width] [batch] [threads]

The same numbers as `cargo run --release -p feasible-nn --example conv_speed -- [width] [batch] [threads]`:
minima of several runs, denormals flushed, 28×28 images of one channel.
"""
import resource
import sys
import time

import torch

from resnet import ResNet18

numbers = [int(a) for a in sys.argv[1:]] + [16, 128, 1][len(sys.argv) - 1:]
width, batch, threads = numbers[:3]
torch.set_num_threads(threads)
torch.set_flush_denormal(True)
torch.manual_seed(1)


def shortest(f, runs=12):
    f()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


for layout in (torch.channels_last, torch.contiguous_format):
    model = ResNet18(width=width).to(memory_format=layout)
    x = torch.rand(batch, 1, 28, 28).contiguous(memory_format=layout)
    y = torch.randint(10, (batch,))
    loss = torch.nn.functional.cross_entropy

    def forward():
        model.eval()
        with torch.no_grad():
            model(x)

    def attack():
        model.eval()
        at = x.clone().requires_grad_(True)
        torch.autograd.grad(loss(model(at), y), at)

    def train():
        model.train()
        model.zero_grad(set_to_none=True)
        loss(model(x), y).backward()

    print(layout, f"{threads} thread(s)")
    times = {f.__name__: shortest(f) for f in (forward, attack, train)}
    for name, seconds in times.items():
        print(f"{name:<10} {1e3 * seconds:8.2f} ms")
    steps = 59_000 / batch
    print(f"nominal epoch of 59,000 images: {steps * times['train']:.0f} s")
    adversarial = 5 * times["attack"] + 2 * times["train"]
    print(f"adversarial epoch (5 steps, clean and adversarial training): {steps * adversarial:.0f} s")
print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} kB")
