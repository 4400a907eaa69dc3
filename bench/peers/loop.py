"""A bare PyTorch loop: a primal epoch of Adam, then one step of Adam on the multipliers."""

import torch
from problem import Settings, Tensor, divergences, network
from tables import Table

START = 1.0  # of every multiplier, as in Feasible's recipe `paper`


def train(table: Table, s: Settings) -> tuple[torch.nn.Module, Tensor]:
    x, y = torch.from_numpy(table.x), torch.from_numpy(table.y)
    views, rows, columns = x.shape
    x = x.transpose(0, 1).contiguous()  # (rows, views, columns): a batch is one gather
    net = network(columns, s.hidden, s.activation)
    primal = torch.optim.Adam(net.parameters(), lr=s.rate)
    multipliers = torch.full((rows,) if s.pointwise else (views - 1,), START, requires_grad=True)
    dual = torch.optim.Adam([multipliers], lr=s.dual_rate, maximize=True)
    halve = torch.optim.lr_scheduler.StepLR(dual, s.dual_every, s.dual_factor)
    for _ in range(s.epochs):
        order = torch.randperm(rows)
        fixed = multipliers.detach()
        for first in range(0, rows, s.batch):
            batch = order[first : first + s.batch]
            logits = net(x[batch]).transpose(0, 1)  # all views in one pass
            values = divergences(logits) - s.limit
            if s.pointwise:
                penalty = (fixed[batch] * values[0]).mean()
            else:
                penalty = (fixed * values.mean(1)).sum()
            loss = torch.nn.functional.cross_entropy(logits[0], y[batch]) + penalty
            primal.zero_grad()
            loss.backward()
            primal.step()
        with torch.no_grad():
            violations = divergences(net(x).transpose(0, 1)) - s.limit
            multipliers.grad = violations[0] if s.pointwise else violations.mean(1)
            dual.step()
            multipliers.clamp_(min=0)
        halve.step()
    return net, multipliers.detach()
