//! A table's columns as inputs of the graph, and the saved preprocessing as its first nodes.
//!
//! Every source column is an input of shape N × 1: text for categories and dates, numbers for all else, NaN where a number
//! is missing. What `predict` computes in double precision is computed in double precision here, so that an
//! interval's edge falls on the same side.
//!
//! A graph cannot refuse a row with a sentence, as `predict` does for a missing cell or an unseen category where the
//! problem file allows none. Such rows are collected in [`Columns::refused`], and get NaN in place of an answer.

use std::collections::BTreeMap;

use feasible_data::encoder::{CellOutcome, CellRules};
use feasible_data::{Encoder, Encoding, Format, Variable};

use super::dates::Days;
use super::graph::{Constant, Dim, Element, Graph, Value};
use super::{GraphValue, NumberInputs};
use crate::error::{Error, Result};

/// A text column as one of the encoder's, or of thresholds.
pub(super) const COLUMN: [Dim; 2] = [Dim::Rows, Dim::Size(1)];

/// The columns so far.
pub(super) struct Columns<'m> {
    encoder: &'m Encoder,
    format: &'m Format,
    numbers: NumberInputs,
    /// The graph's inputs, in order.
    pub(super) inputs: Vec<GraphValue>,
    by_name: BTreeMap<String, (Element, Value)>,
    /// N × something, in the order of the encoded columns.
    features: Vec<Value>,
    /// N × 1 each: rows that `predict` would refuse.
    pub(super) refused: Vec<Value>,
    /// Whether features may be infinite or no numbers.
    unbounded: bool,
}

impl<'m> Columns<'m> {
    /// None yet.
    pub(super) fn new(encoder: &'m Encoder, format: &'m Format, numbers: NumberInputs) -> Self {
        let (inputs, by_name) = (Vec::new(), BTreeMap::new());
        let (features, refused, unbounded) = (Vec::new(), Vec::new(), false);
        Self { encoder, format, numbers, inputs, by_name, features, refused, unbounded }
    }

    /// All columns of the encoder: N × d.
    ///
    /// # Errors
    /// A column without a name.
    pub(super) fn encode(&mut self, graph: &mut Graph) -> Result<Value> {
        let encoder = self.encoder;
        for variable in encoder.variables() {
            self.variable(graph, variable)?;
        }
        let features = std::mem::take(&mut self.features);
        let Some(features) = graph.side_by_side(&features) else {
            return Err(Error::unfit(
                "the model",
                "it sees no column, so there is nothing to export",
            ));
        };
        if self.unbounded {
            let nan = graph.op("IsNaN", &[&features]);
            let infinite = graph.op("IsInf", &[&features]);
            let either = graph.op("Or", &[&nan, &infinite]);
            let refused = graph.any(&either);
            self.refused.push(refused);
        }
        Ok(features)
    }

    fn variable(&mut self, graph: &mut Graph, variable: &Variable) -> Result<()> {
        let rules = self.encoder.cell_rules(variable);
        let refuses = |outcome| outcome == CellOutcome::Refused;
        let can_refuse = refuses(rules.missing)
            || matches!(variable.encoding, Encoding::Categories { .. }) && refuses(rules.unseen)
            || matches!(variable.encoding, Encoding::Dates { .. });
        // A column that was constant in training and whatever is in it: `predict` does not look at it.
        if variable.width() == 0 && !can_refuse {
            return Ok(());
        }
        match &variable.encoding {
            Encoding::Categories { .. } => {
                let cells = self.text(graph, &variable.column)?;
                self.categories(graph, &cells, &rules, variable.width());
            }
            Encoding::Number { mean, sd, missing, indicator } => {
                let x = self.number(graph, &variable.column)?;
                let (x, absent) = filled(graph, &x, *missing);
                match &absent {
                    None if *sd == 0.0 => {
                        let nan = graph.op("IsNaN", &[&x]);
                        self.refused.push(nan);
                    }
                    _ => {}
                }
                if *sd != 0.0 {
                    let scaled = scaled(graph, &x, *mean, *sd);
                    self.features.push(scaled);
                    self.unbounded = true;
                }
                self.absence(graph, absent.filter(|_| *indicator));
            }
            Encoding::Piecewise { knots, atoms, missing, indicator } => {
                let x = self.number(graph, &variable.column)?;
                let (x, absent) = filled(graph, &x, *missing);
                if absent.is_none() {
                    let nan = graph.op("IsNaN", &[&x]);
                    self.refused.push(nan);
                }
                let infinite = graph.op("IsInf", &[&x]);
                self.refused.push(infinite);
                let pieces = self.pieces(graph, &x, knots);
                self.features.push(pieces);
                if !atoms.is_empty() {
                    let atoms = self.as_given(atoms);
                    let atoms = graph.constant(Constant::doubles(atoms));
                    let at = graph.op("Equal", &[&x, &atoms]);
                    let at = graph.cast(&at, Element::Float);
                    self.features.push(at);
                }
                self.absence(graph, absent.filter(|_| *indicator));
            }
            Encoding::Bins { edges, .. } => {
                let x = self.number(graph, &variable.column)?;
                self.bins(graph, &x, edges, &rules, variable.width());
            }
            Encoding::Dates { mean, sd, missing, indicator, cycles } => {
                let cells = self.text(graph, &variable.column)?;
                let days = Days::read(graph, &cells);
                let absent = self.is_missing(graph, &cells);
                let known = match (&absent, missing) {
                    (Some(absent), Some(_)) => graph.op("Or", &[absent, &days.valid]),
                    // A missing cell is no date either.
                    _ => days.valid.clone(),
                };
                let refused = graph.op("Not", &[&known]);
                self.refused.push(refused);
                let absent = absent.filter(|_| missing.is_some());
                if *sd != 0.0 {
                    let x = match (&absent, missing) {
                        (Some(absent), Some(missing)) => {
                            let missing = graph.constant(Constant::double(*missing));
                            graph.op("Where", &[absent, &missing, &days.days])
                        }
                        _ => days.days.clone(),
                    };
                    let scaled = scaled(graph, &x, *mean, *sd);
                    self.features.push(scaled);
                }
                for cycle in cycles {
                    for at in days.cycle(graph, *cycle) {
                        let at = graph.cast(&at, Element::Float);
                        let at = match &absent {
                            Some(absent) => {
                                let zero = graph.constant(Constant::float(0.0));
                                graph.op("Where", &[absent, &zero, &at])
                            }
                            None => at,
                        };
                        self.features.push(at);
                    }
                }
                if *indicator {
                    match absent {
                        Some(absent) => self.absence(graph, Some(absent)),
                        // No text counts as missing, so that none is.
                        None => {
                            let never = self.never(graph, &cells);
                            self.absence(graph, Some(never));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// All names that inputs may have.
    pub(super) fn names(&self, groups: Option<&str>) -> Vec<String> {
        let columns = self.encoder.variables().iter().map(|variable| variable.column.as_str());
        columns.chain(groups).chain([super::IMAGE]).map(String::from).collect()
    }

    /// Whether a text says that a cell is missing.
    pub(super) fn is_mark(&self, text: &str) -> bool {
        self.format.missing.iter().any(|mark| mark == text)
    }

    /// An indicator of missing cells.
    fn absence(&mut self, graph: &mut Graph, absent: Option<Value>) {
        if let Some(absent) = absent {
            let indicator = graph.cast(&absent, Element::Float);
            self.features.push(indicator);
        }
    }

    /// An input of text.
    ///
    /// # Errors
    /// A column without a name, or one that is an input of numbers.
    pub(super) fn text(&mut self, graph: &mut Graph, column: &str) -> Result<Value> {
        match self.input(graph, column, Element::Text)? {
            (Element::Text, value) => Ok(value),
            _ => Err(Error::unfit(
                format!("column '{}'", feasible_data::visible(column)),
                "is an input as a number, and its categories choose thresholds: one input cannot be both. Declare it \
                 categorical under [data] and train again, or leave [decision] per out",
            )),
        }
    }

    /// An input of numbers, in double precision from here on.
    fn number(&mut self, graph: &mut Graph, column: &str) -> Result<Value> {
        let element = match self.numbers {
            NumberInputs::Double => Element::Double,
            NumberInputs::Float => Element::Float,
        };
        let (_, value) = self.input(graph, column, element)?;
        Ok(match self.numbers {
            NumberInputs::Double => value,
            NumberInputs::Float => graph.cast(&value, Element::Double),
        })
    }

    fn input(
        &mut self,
        graph: &mut Graph,
        column: &str,
        element: Element,
    ) -> Result<(Element, Value)> {
        if let Some(known) = self.by_name.get(column) {
            return Ok(known.clone());
        }
        if column.is_empty() {
            let reason = "has no name, and an input of an ONNX graph needs one: name it in the header and train again";
            return Err(Error::unfit("a column", reason));
        }
        let value = graph.input(column, element, &COLUMN);
        let shape = vec![None, Some(1)];
        self.inputs.push(GraphValue { name: column.into(), element: element.name(), shape });
        self.by_name.insert(column.into(), (element, value.clone()));
        Ok((element, value))
    }

    /// Where text cells are missing; `None` if no text counts as missing.
    fn is_missing(&self, graph: &mut Graph, cells: &Value) -> Option<Value> {
        let marks = &self.format.missing;
        (!marks.is_empty()).then(|| is_one_of(graph, cells, marks.clone()))
    }

    /// false for each row.
    fn never(&self, graph: &mut Graph, cells: &Value) -> Value {
        let same = graph.op("Equal", &[cells, cells]);
        graph.op("Not", &[&same])
    }

    fn categories(&mut self, graph: &mut Graph, cells: &Value, rules: &CellRules, width: usize) {
        let marks = &self.format.missing;
        let refused = CellOutcome::Refused;
        // A mark of missing cells is never read as a category.
        let named = rules.known.iter().filter(|(name, _)| !marks.contains(name)).cloned();
        let missing = marks.iter().map(|mark| (mark.clone(), rules.missing));
        let (accepted, rejected): (Vec<_>, Vec<_>) =
            named.chain(missing).partition(|(_, outcome)| *outcome != refused);
        // Where all others become nothing, so may those that are known to.
        let others_are_nothing = rules.unseen == CellOutcome::Nothing;
        let told = |outcome: CellOutcome| !(others_are_nothing && outcome == CellOutcome::Nothing);
        let (names, outcomes): (Vec<String>, Vec<CellOutcome>) =
            accepted.into_iter().filter(|(_, outcome)| told(*outcome)).unzip();
        if rules.unseen != refused && !rejected.is_empty() {
            let names = rejected.into_iter().map(|(name, _)| name).collect();
            let missing = is_one_of(graph, cells, names);
            self.refused.push(missing);
        }
        if width == 0 && rules.unseen != refused {
            return;
        }
        let (equal, mut outcomes) = match names.len() {
            // Nothing is told apart: all cells are like unseen ones.
            0 => (self.never(graph, cells), vec![CellOutcome::Nothing]),
            count => {
                let list = graph.constant(Constant::texts(&[1, count], names));
                (graph.op("Equal", &[cells, &list]), outcomes)
            }
        };
        let mut hot = graph.cast(&equal, Element::Float);
        match rules.unseen {
            CellOutcome::Nothing | CellOutcome::Number(_) => {}
            CellOutcome::Refused => {
                let seen = graph.any(&equal);
                let unseen = graph.op("Not", &[&seen]);
                self.refused.push(unseen);
            }
            CellOutcome::Indicator(_) => {
                let seen = graph.any(&equal);
                let unseen = graph.op("Not", &[&seen]);
                let unseen = graph.cast(&unseen, Element::Float);
                hot = graph.side_by_side(&[hot, unseen.clone()]).unwrap_or(unseen);
                outcomes.push(rules.unseen);
            }
        }
        if width > 0 {
            let features = through_table(graph, &hot, &outcomes, width);
            self.features.push(features);
        }
    }

    /// Edges, knots and atoms as numbers of the inputs' precision: what was equal to one still is.
    fn as_given(&self, numbers: &[f64]) -> Vec<f64> {
        match self.numbers {
            NumberInputs::Double => numbers.to_vec(),
            NumberInputs::Float => numbers.iter().map(|&x| f64::from(x as f32)).collect(),
        }
    }

    /// clamp((x − t₀)/(t₁ − t₀), 0, 1), …
    fn pieces(&self, graph: &mut Graph, x: &Value, knots: &[f64]) -> Value {
        let knots = self.as_given(knots);
        // Halved where differences would overflow, as the encoder always does; elsewhere it makes no difference.
        let large = knots.iter().any(|knot| knot.abs() > f64::MAX / 4.0);
        let factor = if large { 0.5 } else { 1.0 };
        let from = knots[..knots.len() - 1].iter().map(|knot| factor * knot).collect();
        let length = |ends: &[f64]| (factor * ends[1] - factor * ends[0]).max(f64::from_bits(1));
        let lengths = knots.windows(2).map(length).collect();
        let mut x = x.clone();
        if large {
            let half = graph.constant(Constant::double(factor));
            x = graph.op("Mul", &[&x, &half]);
        }
        let from = graph.constant(Constant::doubles(from));
        let lengths = graph.constant(Constant::doubles(lengths));
        let past = graph.op("Sub", &[&x, &from]);
        let share = graph.op("Div", &[&past, &lengths]);
        let zero = graph.constant(Constant::double(0.0));
        let one = graph.constant(Constant::double(1.0));
        let clamped = graph.op("Clip", &[&share, &zero, &one]);
        graph.cast(&clamped, Element::Float)
    }

    fn bins(
        &mut self,
        graph: &mut Graph,
        x: &Value,
        edges: &[f64],
        rules: &CellRules,
        width: usize,
    ) {
        let nan = graph.op("IsNaN", &[x]);
        if rules.missing == CellOutcome::Refused {
            self.refused.push(nan.clone());
        }
        if width == 0 {
            return;
        }
        let first = rules.known.first().map_or(CellOutcome::Nothing, |(_, outcome)| *outcome);
        let mut bins = row_of(graph, first, width);
        if !edges.is_empty() {
            // x is in the first bin; each edge below it moves it one further.
            let mut table = vec![0.0; edges.len() * width];
            for (edge, row) in table.chunks_exact_mut(width).enumerate() {
                for (step, at) in [(-1.0, edge), (1.0, edge + 1)] {
                    if let Some((_, CellOutcome::Indicator(column))) = rules.known.get(at) {
                        row[*column as usize] += step;
                    }
                }
            }
            let below = graph.constant(Constant::doubles(self.as_given(edges)));
            let above = graph.op("Greater", &[x, &below]);
            let above = graph.cast(&above, Element::Float);
            let table = graph.constant(Constant::floats(&[edges.len(), width], table));
            let moved = graph.op("MatMul", &[&above, &table]);
            bins = graph.op("Add", &[&moved, &bins]);
        }
        let missing = row_of(graph, rules.missing, width);
        let features = graph.op("Where", &[&nan, &missing, &bins]);
        self.features.push(features);
    }
}

/// (x − mean)/sd in double precision, rounded once.
fn scaled(graph: &mut Graph, x: &Value, mean: f64, sd: f64) -> Value {
    let mut x = x.clone();
    if mean != 0.0 {
        let mean = graph.constant(Constant::double(mean));
        x = graph.op("Sub", &[&x, &mean]);
    }
    if sd != 1.0 {
        let sd = graph.constant(Constant::double(sd));
        x = graph.op("Div", &[&x, &sd]);
    }
    graph.cast(&x, Element::Float)
}

/// Numbers with what stands for missing ones, and where they are missing; as they are where none may be.
fn filled(graph: &mut Graph, x: &Value, missing: Option<f64>) -> (Value, Option<Value>) {
    let Some(missing) = missing else { return (x.clone(), None) };
    let absent = graph.op("IsNaN", &[x]);
    let missing = graph.constant(Constant::double(missing));
    (graph.op("Where", &[&absent, &missing, x]), Some(absent))
}

/// Which rows of a text column hold one of these.
pub(super) fn is_one_of(graph: &mut Graph, cells: &Value, texts: Vec<String>) -> Value {
    let count = texts.len();
    let texts = graph.constant(Constant::texts(&[1, count], texts));
    let equal = graph.op("Equal", &[cells, &texts]);
    if count == 1 { equal } else { graph.any(&equal) }
}

/// The columns of one outcome: 1 × width.
fn row_of(graph: &mut Graph, outcome: CellOutcome, width: usize) -> Value {
    let mut row = vec![0.0; width];
    if let CellOutcome::Indicator(at) = outcome {
        row[at as usize] = 1.0;
    }
    graph.constant(Constant::floats(&[1, width], row))
}

/// Indicators of names to those of the outcomes of names.
fn through_table(graph: &mut Graph, hot: &Value, outcomes: &[CellOutcome], width: usize) -> Value {
    let mut table = vec![0.0; outcomes.len() * width];
    for (outcome, row) in outcomes.iter().zip(table.chunks_exact_mut(width)) {
        if let CellOutcome::Indicator(at) = outcome {
            row[*at as usize] = 1.0;
        }
    }
    let in_order =
        |(at, outcome): (usize, &CellOutcome)| *outcome == CellOutcome::Indicator(at as u32);
    if outcomes.len() == width && outcomes.iter().enumerate().all(in_order) {
        return hot.clone();
    }
    let table = graph.constant(Constant::floats(&[outcomes.len(), width], table));
    graph.op("MatMul", &[hot, &table])
}
