# %% [markdown]
# # A robust network in PyTorch
#
# A small convolutional network reads articles of clothing. Two things are required of it: its loss under an attack must stay below a limit on average, and the mirror
# image of every single article must be read like the article itself. The model and the training loop are plain PyTorch; `feasible.torch.Duals` holds the multipliers.
# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn.functional import cross_entropy, log_softmax
from torch.utils.data import DataLoader, TensorDataset

import feasible
import feasible.torch
from feasible.torch import ascent, average, every_row, with_rows

torch.set_num_threads(1)
x, y, x_test, y_test, classes = feasible.datasets.load_images("fashion-mnist-sample")
x, x_test = (torch.from_numpy(images).float() / 255 for images in (x, x_test))
y, y_test = torch.from_numpy(y), torch.from_numpy(y_test)
data = with_rows(TensorDataset(x, y))  # every sample comes with its id
print(f"{len(x)} images for training, {len(x_test)} for the test")
# %% [markdown]
# The attack moves every pixel by at most ε, to where the loss grows (the fast gradient sign method).
# %%
EPSILON = 0.05


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(400, 10),
    )


def attack(net, x, y):
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(cross_entropy(net(x), y), x)
    return (x + EPSILON * gradient.sign()).clamp(0, 1).detach()


def divergence(out, other):
    p, q = log_softmax(out, 1), log_softmax(other, 1)
    return (p.exp() * (p - q)).sum(1)


def shown(name, net):
    with torch.no_grad():
        out, mirrored = net(x_test), net(x_test.flip(3))
    attacked = net(attack(net, x_test, y_test))
    right = (out.argmax(1) == y_test).float().mean()
    robust = (attacked.argmax(1) == y_test).float().mean()
    changed = (out.argmax(1) != mirrored.argmax(1)).float().mean()
    loss = cross_entropy(attacked, y_test)
    print(f"{name}: accuracy {right:.1%}, under attack {robust:.1%}, loss under attack {loss:.2f}, changed by a mirror {changed:.1%}")
# %% [markdown]
# First without requirements: accurate, and easily fooled.
# %%
plain = network()
optimiser = torch.optim.Adam(plain.parameters(), lr=2e-3)
for epoch in range(6):
    for images, labels, _ in DataLoader(data, batch_size=64, shuffle=True):
        cross_entropy(plain(images), labels).backward()
        optimiser.step()
        optimiser.zero_grad()
shown("plain", plain)
# %% [markdown]
# Now with requirements. `lagrangian` adds them to the loss, each times its multiplier, and `step` moves the multipliers by what was measured. "Robust" has one
# multiplier; "mirror" has one for every image, by its id.
# %%
duals = feasible.torch.Duals(
    average("robust", at_most=0.9, dual=ascent(0.05)),
    every_row("mirror", rows=len(x), at_most=0.1, dual=ascent(0.3), start=0.1),
)
print(*duals.requirements, sep="\n")
# %%
net = network()
optimiser = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(8):
    for images, labels, rows in DataLoader(data, batch_size=64, shuffle=True):
        out = net(images)
        loss = duals.lagrangian(
            cross_entropy(out, labels),
            robust=cross_entropy(net(attack(net, images, labels)), labels),
            mirror=(divergence(out, net(images.flip(3))), rows),
        )
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        duals.step(epoch)
shown("plain", plain)
shown("with requirements", net)
# %% [markdown]
# The history has a line for each step and requirement.
# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
for axis, what in zip(axes, ("violation", "multiplier")):
    for name in ("robust", "mirror"):
        lines = [line[what] for line in duals.history if line["requirement"] == name]
        axis.plot(np.convolve(lines, np.ones(20) / 20, mode="valid"), label=name)
    axis.set(xlabel="step", title=f"{what}, mean of 20 steps")
    axis.grid(alpha=0.3)
axes[0].axhline(0, color="black", linewidth=0.8)
axes[1].legend()
plt.show()
# %% [markdown]
# Which images made it hard? Those with the largest multipliers.
# %%
multipliers = duals.multipliers("mirror", np.arange(len(x)))
print(f"for {np.mean(multipliers == 0):.0%} of the images the requirement is free")
hardest = np.argsort(-multipliers, kind="stable")[:8]
figure, axes = plt.subplots(1, 8, figsize=(10, 1.8), layout="constrained")
for axis, row in zip(axes, hardest):
    axis.imshow(x[row, 0], cmap="gray_r")
    axis.set_title(f"{classes[y[row]]}\nλ = {multipliers[row]:.2f}", fontsize=8)
    axis.axis("off")
plt.show()
# %% [markdown]
# What do the test images prove about all images that they are drawn from, under this attack? What the network predicts is enough.
# %%
predictions = net(attack(net, x_test, y_test)).argmax(1).numpy()
judged = feasible.certify(predictions, y_test.numpy(), [feasible.rate("error", at_most=0.4)], title="Under attack")
print(judged.certificate)
