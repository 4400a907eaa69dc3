//! Projected gradient ascent on a batch.

use crate::adaptive::{Adaptive, Probe, TrainingPlace};
use crate::adversary::attack::{Adversary, Select};
use crate::adversary::budget::Draw;
use crate::adversary::goal::{Aim, Value, goal};
use crate::adversary::judge::{Bench, Judge};
use crate::samples::{Target, Targets};
use crate::stream::{Purpose, Stream};

impl Adaptive for Adversary {
    fn shift(&self, probe: &mut dyn Probe, place: TrainingPlace, shift: &mut [f32]) {
        let positions: Vec<u32> = (0..probe.rows().len() as u32).collect();
        Run::new(self, probe, place, &positions).attack(probe, shift);
    }
}

/// The attack on some positions of a batch.
pub(super) struct Run<'a> {
    adversary: &'a Adversary,
    place: TrainingPlace,
    d: usize,
    /// The positions still under attack.
    active: Vec<u32>,
    columns: Vec<u32>,
    /// Per position of the batch.
    epsilon: Vec<f32>,
    ids: Vec<u64>,
    targets: Targets,
    /// δ of the active positions, one after the other.
    delta: Vec<f32>,
    seeds: Vec<f32>,
    gradient: Vec<f32>,
    /// Values at the active positions' δ, and the best so far of every position.
    values: Vec<Value>,
    pub(super) best: Vec<Value>,
    x: Vec<f32>,
    bench: Bench,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        adversary: &'a Adversary,
        probe: &dyn Probe,
        place: TrainingPlace,
        positions: &[u32],
    ) -> Self {
        let (samples, rows) = (probe.samples(), probe.rows());
        let inputs = samples.inputs();
        let ids: Vec<u64> = rows.iter().map(|&r| samples.ids()[r as usize]).collect();
        let targets = samples.targets().chosen(rows.iter().map(|&row| row as usize));
        let columns = match &adversary.attack.columns {
            Some(columns) => {
                columns.iter().copied().filter(|&c| (c as usize) < inputs.width()).collect()
            }
            None => inputs.dense_columns().to_vec(),
        };
        let batch = ids.iter().copied().min().unwrap_or(0);
        let budget = &adversary.attack.budget;
        let epsilon = |&id: &u64| {
            let key = match budget.draw {
                Draw::Sample => id,
                Draw::Batch => batch,
            };
            budget.epsilon(place, key, adversary.most) as f32
        };
        let spared = |&p: &u32| match (adversary.attack.aim, targets.get(p as usize)) {
            (Aim::Targeted(t), Target::Class(y)) => t == y,
            _ => false,
        };
        Self {
            adversary,
            place,
            d: inputs.width(),
            active: positions.iter().copied().filter(|p| !spared(p)).collect(),
            columns,
            epsilon: ids.iter().map(epsilon).collect(),
            best: vec![Value::NOTHING; ids.len()],
            ids,
            targets,
            delta: Vec::new(),
            seeds: Vec::new(),
            gradient: Vec::new(),
            values: Vec::new(),
            x: Vec::new(),
            bench: Bench::default(),
        }
    }

    /// Writes δ of every position; `shift` starts at zero.
    pub(super) fn attack(&mut self, probe: &mut dyn Probe, shift: &mut [f32]) {
        let attack = &self.adversary.attack;
        self.delta.resize(self.active.len() * self.d, 0.0);
        if let Some(judge) = &self.adversary.judge {
            judge.begin(probe, self.d, &mut self.bench);
        }
        if attack.select != Select::Last && !self.active.is_empty() {
            self.evaluate(probe);
            self.keep(shift);
            self.retire(attack.select == Select::First);
        }
        for restart in 0..attack.restarts {
            if self.active.is_empty() {
                return;
            }
            if restart % 2 == 1 && self.adversary.judge.as_ref().is_some_and(Judge::has_two_sides) {
                self.turn_round(probe);
            } else {
                self.start(probe, restart);
            }
            for _ in 0..attack.steps {
                self.evaluate(probe);
                if attack.select != Select::Last {
                    self.keep(shift);
                }
                let first = attack.select == Select::First;
                if first && self.active.iter().all(|&p| self.best[p as usize].won) {
                    return;
                }
                self.ascend(probe);
                self.retire(first);
            }
            if attack.select == Select::Last {
                for (delta, &p) in self.delta.chunks_exact(self.d).zip(&self.active) {
                    shift[p as usize * self.d..(p as usize + 1) * self.d].copy_from_slice(delta);
                }
            } else {
                self.evaluate(probe);
                self.keep(shift);
                self.retire(true);
            }
        }
    }

    /// Puts every active δ at its start.
    fn start(&mut self, probe: &dyn Probe, restart: u32) {
        self.delta.clear();
        self.delta.resize(self.active.len() * self.d, 0.0);
        if !self.adversary.attack.random_start {
            return;
        }
        for (i, &p) in self.active.iter().enumerate() {
            let p = p as usize;
            let number = (self.place.epoch << 20) + 1 + u64::from(restart);
            let mut random = Stream::new(self.place.seed, Purpose::View, number, self.ids[p]);
            let delta = &mut self.delta[i * self.d..(i + 1) * self.d];
            self.adversary.attack.norm.start(self.epsilon[p], &self.columns, &mut random, delta);
        }
        self.stay_inside(probe);
    }

    /// Puts every active δ at the other side of the ball.
    fn turn_round(&mut self, probe: &dyn Probe) {
        self.delta.iter_mut().for_each(|d| *d = -*d);
        self.stay_inside(probe);
    }

    /// The values and seeds at the active positions' δ.
    fn evaluate(&mut self, probe: &mut dyn Probe) {
        let k = probe.output_width();
        self.seeds.resize(self.active.len() * k, 0.0);
        self.values.resize(self.active.len(), Value::NOTHING);
        let everyone = self.active.len() == probe.rows().len();
        let outputs = if everyone {
            probe.outputs(&self.delta)
        } else {
            probe.outputs_at(&self.active, &self.delta)
        };
        let judged = self.adversary.judge.as_ref().map(|judge| (judge, outputs.to_vec()));
        let attack = &self.adversary.attack;
        for (i, &p) in self.active.iter().enumerate() {
            let (z, seeds) = (&outputs[i * k..(i + 1) * k], &mut self.seeds[i * k..(i + 1) * k]);
            self.values[i] = goal(attack.loss, attack.aim, self.targets.get(p as usize), z, seeds);
        }
        if let Some((judge, outputs)) = judged {
            let (active, bench) = (&self.active, &mut self.bench);
            let at = (&outputs[..], k);
            judge.judge(at, probe, active, bench, &mut self.values, &mut self.seeds);
        }
    }

    /// One step along the gradient at the last evaluation.
    fn ascend(&mut self, probe: &mut dyn Probe) {
        let d = self.d;
        self.gradient.resize(self.active.len() * d, 0.0);
        probe.input_gradient(&self.seeds, &mut self.gradient);
        let attack = &self.adversary.attack;
        for (i, &p) in self.active.iter().enumerate() {
            let epsilon = self.epsilon[p as usize];
            let delta = &mut self.delta[i * d..(i + 1) * d];
            let length = (attack.step * f64::from(epsilon)) as f32;
            attack.norm.step(length, &self.columns, &self.gradient[i * d..(i + 1) * d], delta);
            attack.norm.project(epsilon, delta);
        }
        self.stay_inside(probe);
    }

    /// Cuts every δ back so that x + δ is within bounds; it only comes closer to 0, so it stays in
    /// the ball.
    fn stay_inside(&mut self, probe: &dyn Probe) {
        let inputs = probe.samples().inputs();
        self.x.resize(self.d, 0.0);
        for (i, &p) in self.active.iter().enumerate() {
            inputs.write_row(probe.rows()[p as usize] as usize, &mut self.x);
            let delta = &mut self.delta[i * self.d..(i + 1) * self.d];
            for &c in &self.columns {
                let (low, high) = self.adversary.room(self.x[c as usize]);
                let entry = &mut delta[c as usize];
                *entry = entry.clamp(low, high);
            }
        }
    }

    /// Keeps the δ that are worse for the model than all before.
    fn keep(&mut self, shift: &mut [f32]) {
        for (i, &p) in self.active.iter().enumerate() {
            let p = p as usize;
            if self.values[i].beats(self.best[p]) {
                self.best[p] = self.values[i];
                let delta = &self.delta[i * self.d..(i + 1) * self.d];
                shift[p * self.d..(p + 1) * self.d].copy_from_slice(delta);
            }
        }
    }

    /// Takes positions that are fooled out of the attack, if they are to be.
    fn retire(&mut self, fooled: bool) {
        if !fooled || !self.active.iter().any(|&p| self.best[p as usize].won) {
            return;
        }
        let d = self.d;
        let mut left = 0;
        for i in 0..self.active.len() {
            let p = self.active[i];
            if !self.best[p as usize].won {
                self.active[left] = p;
                self.delta.copy_within(i * d..(i + 1) * d, left * d);
                left += 1;
            }
        }
        self.active.truncate(left);
        self.delta.truncate(left * d);
    }
}
