"""The same in Cooper: its problem, multipliers and optimiser, a dual step once an epoch."""

import cooper
import torch
from loop import START
from problem import Settings, Tensor, divergences, network
from tables import Table


class Invariance(cooper.ConstrainedMinimizationProblem):
    def __init__(self, net: torch.nn.Module, s: Settings, size: int) -> None:
        super().__init__()
        self.net, self.s = net, s
        kind = cooper.multipliers.IndexedMultiplier if s.pointwise else cooper.multipliers.DenseMultiplier
        self.invariance = cooper.Constraint(
            constraint_type=cooper.ConstraintType.INEQUALITY,
            formulation_type=cooper.formulations.Lagrangian,
            multiplier=kind(init=torch.full((size,), START)),
        )

    def state(self, x: Tensor, rows: Tensor, mean: bool) -> tuple[Tensor, cooper.ConstraintState]:
        logits = self.net(x).transpose(0, 1)
        violations = divergences(logits) - self.s.limit
        if self.s.pointwise:
            # Cooper adds up λ(n) · violation(n); the objective's batch mean asks for the mean of them.
            violation = violations[0] / len(rows) if mean else violations[0]
            state = cooper.ConstraintState(violation, constraint_features=rows)
        else:
            state = cooper.ConstraintState(violations.mean(1))
        return logits, state

    def compute_cmp_state(self, x: Tensor, y: Tensor, rows: Tensor) -> cooper.CMPState:
        logits, state = self.state(x, rows, mean=True)
        state.contributes_to_dual_update = False
        loss = torch.nn.functional.cross_entropy(logits[0], y)
        return cooper.CMPState(loss, {self.invariance: state})

    def compute_violations(self, x: Tensor, rows: Tensor) -> cooper.CMPState:
        return cooper.CMPState(None, {self.invariance: self.state(x, rows, mean=False)[1]})


def train(table: Table, s: Settings) -> tuple[torch.nn.Module, Tensor]:
    x, y = torch.from_numpy(table.x), torch.from_numpy(table.y)
    views, rows, columns = x.shape
    x = x.transpose(0, 1).contiguous()
    net = network(columns, s.hidden, s.activation)
    cmp = Invariance(net, s, rows if s.pointwise else views - 1)
    # Cooper's indexed multipliers have sparse gradients.
    adam = torch.optim.SparseAdam if s.pointwise else torch.optim.Adam
    dual = adam(list(cmp.dual_parameters()), lr=s.dual_rate, maximize=True)
    halve = torch.optim.lr_scheduler.StepLR(dual, s.dual_every, s.dual_factor)
    optimiser = cooper.optim.SimultaneousOptimizer(
        cmp=cmp, primal_optimizers=torch.optim.Adam(net.parameters(), lr=s.rate), dual_optimizers=dual
    )
    everyone = torch.arange(rows)
    for _ in range(s.epochs):
        order = torch.randperm(rows)
        for first in range(0, rows, s.batch):
            batch = order[first : first + s.batch]
            optimiser.zero_grad()
            state = cmp.compute_cmp_state(x[batch], y[batch], batch)
            state.compute_primal_lagrangian().backward()
            optimiser.primal_step()
        optimiser.zero_grad()
        with torch.no_grad():
            state = cmp.compute_violations(x, everyone)
        state.compute_dual_lagrangian().backward()
        optimiser.dual_step()
        halve.step()
    return net, cmp.invariance.multiplier.weight.detach().flatten()
