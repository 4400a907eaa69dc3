"""Attack strength: foolbox's LinfPGD beside Feasible's, on the same weights and images.

    pip install -r bench/peers/requirements.txt foolbox==3.3.4 safetensors
    python bench/peers/foolbox_pgd.py DIR_WITH_FASHION_MNIST OUT [images]
    cargo run --release -p feasible-nn --example attack_strength -- OUT

The first trains a quarter-width ResNet18 for a short while in PyTorch (on clean and lightly attacked images, so
that there is something to attack), writes `weights.safetensors` and `images.safetensors` to OUT, and attacks them
with foolbox: 50 steps of ε/30, random start, one run, three seeds. The second reads both and attacks with the same
settings. Both print accuracy and mean cross-entropy at the last point of the attack. DIR holds the IDX files
(gzip) of Fashion-MNIST under their own names.
"""
import gzip
import pathlib
import sys

import foolbox
import numpy as np
import torch
from safetensors.torch import save_file

from resnet import ResNet18

folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
count = int(sys.argv[3]) if len(sys.argv) > 3 else 500
out.mkdir(parents=True, exist_ok=True)
torch.manual_seed(1)
torch.set_flush_denormal(True)
loss = torch.nn.functional.cross_entropy


def read(name, header):
    with gzip.open(folder / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def images(kind):
    x = torch.tensor(read(f"{kind}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28) / 255.0)
    return x.float(), torch.tensor(read(f"{kind}-labels-idx1-ubyte.gz", 8).astype(np.int64))


x, y = images("train")
x, y = x[:6000], y[:6000]
model = ResNet18(mean=0.2860, deviation=0.3530).to(memory_format=torch.channels_last)
optimiser = torch.optim.Adam(model.parameters(), 1e-3)
for epoch in range(2):
    for rows in torch.randperm(len(x)).split(128):
        at = x[rows].clone().requires_grad_(True)
        model.eval()
        step = torch.autograd.grad(loss(model(at), y[rows]), at)[0].sign()
        model.train()
        optimiser.zero_grad()
        moved = (x[rows] + 0.03 * step).clamp(0, 1)
        (loss(model(x[rows]), y[rows]) + loss(model(moved), y[rows])).backward()
        optimiser.step()
model.eval()
x, y = images("t10k")
x, y = x[:count], y[:count]
state = {k: v.contiguous() for k, v in model.state_dict().items() if v.is_floating_point()}
save_file(state, out / "weights.safetensors")
save_file({"images": x.reshape(count, -1).contiguous(), "labels": y.float()}, out / "images.safetensors")

wrapped = foolbox.PyTorchModel(model, bounds=(0, 1))
attack = foolbox.attacks.LinfPGD(steps=50, rel_stepsize=1 / 30, random_start=True)
for epsilon in (0.0, 0.01, 0.02, 0.04, 0.06):
    results = []
    for seed in range(3):
        torch.manual_seed(seed)
        moved = torch.cat([
            x[i] if epsilon == 0 else attack(wrapped, x[i], y[i], epsilons=epsilon)[1]
            for i in torch.arange(count).split(250)
        ])
        with torch.no_grad():
            outputs = model(moved)
        right = (outputs.argmax(1) == y).float().mean().item()
        results.append((right, loss(outputs, y).item()))
    shown = ", ".join(f"{100 * a:.1f} % {l:.4f}" for a, l in results)
    print(f"ε = {epsilon:<5} accuracy and cross-entropy of three seeds: {shown}")
