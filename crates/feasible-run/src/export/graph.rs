//! An ONNX graph that is being put together, and its file.
//!
//! A [`Graph`] hands out names of values: of its inputs, which are those of columns, of constants, and of what nodes
//! compute. Nodes are added after what they read, so that their order is one in which they can be computed. Field numbers
//! are those of `onnx.proto3`.

use std::collections::{BTreeMap, BTreeSet};

use super::protobuf::Message;

/// The version of the file format that goes with operator sets 19 and 20.
const IR_VERSION: i64 = 9;
/// Bytes up to which equal constants are one.
const SMALL: usize = 64;

/// What the elements of a tensor are; the number is ONNX's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Float = 1,
    Int64 = 7,
    Text = 8,
    Bool = 9,
    Double = 11,
}

impl Element {
    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Int64 => "int64",
            Self::Text => "string",
            Self::Bool => "bool",
            Self::Double => "double",
        }
    }
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constant {
    dims: Vec<usize>,
    data: Data,
}

#[derive(Clone, Debug, PartialEq)]
enum Data {
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

impl Constant {
    /// Numbers in single precision.
    pub(super) fn floats(dims: &[usize], values: Vec<f32>) -> Self {
        Self { dims: dims.to_vec(), data: Data::Floats(values) }
    }

    /// Numbers in double precision, side by side.
    pub(super) fn doubles(values: Vec<f64>) -> Self {
        Self { dims: vec![1, values.len()], data: Data::Doubles(values) }
    }

    /// A list of numbers in double precision.
    pub(super) fn double_list(values: &[f64]) -> Self {
        Self { dims: vec![values.len()], data: Data::Doubles(values.to_vec()) }
    }

    /// One number in double precision.
    pub(super) fn double(value: f64) -> Self {
        Self { dims: Vec::new(), data: Data::Doubles(vec![value]) }
    }

    /// One number in single precision.
    pub(super) fn float(value: f32) -> Self {
        Self::floats(&[], vec![value])
    }

    /// Whole numbers in a list.
    pub(super) fn ints(values: &[i64]) -> Self {
        Self { dims: vec![values.len()], data: Data::Ints(values.to_vec()) }
    }

    /// One whole number.
    pub(super) fn int(value: i64) -> Self {
        Self { dims: Vec::new(), data: Data::Ints(vec![value]) }
    }

    /// Text, of these dimensions.
    pub(super) fn texts(dims: &[usize], values: Vec<String>) -> Self {
        Self { dims: dims.to_vec(), data: Data::Texts(values) }
    }

    /// One text.
    pub(super) fn text(value: &str) -> Self {
        Self::texts(&[], vec![value.into()])
    }

    /// Bytes of the values, about.
    fn size(&self) -> usize {
        match &self.data {
            Data::Floats(x) => 4 * x.len(),
            Data::Doubles(x) => 8 * x.len(),
            Data::Ints(x) => 8 * x.len(),
            Data::Texts(x) => x.iter().map(|text| text.len() + 6).sum(),
        }
    }

    fn tensor(&self, name: &str) -> Message {
        let mut tensor = Message::new();
        let dims: Vec<i64> = self.dims.iter().map(|&dim| dim as i64).collect();
        tensor.packed_ints(1, &dims);
        let (element, raw) = match &self.data {
            Data::Floats(x) => (Element::Float, x.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Data::Doubles(x) => (Element::Double, x.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Data::Ints(x) => (Element::Int64, x.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Data::Texts(_) => (Element::Text, Vec::new()),
        };
        tensor.int(2, element as i64);
        match &self.data {
            Data::Texts(texts) => texts.iter().for_each(|text| tensor.text(6, text)),
            _ => tensor.bytes(9, &raw),
        }
        tensor.text(8, name);
        tensor
    }
}

/// The value of an attribute of a node.
#[derive(Clone, Debug)]
pub(super) enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
}

impl Attribute {
    fn message(&self, name: &str) -> Message {
        let mut attribute = Message::new();
        attribute.text(1, name);
        let kind = match self {
            Self::Int(value) => {
                attribute.int(3, *value);
                2
            }
            Self::Text(text) => {
                attribute.text(4, text);
                3
            }
            Self::Ints(values) => {
                attribute.packed_ints(8, values);
                7
            }
        };
        attribute.int(20, kind);
        attribute
    }
}

/// A dimension of an input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dim {
    /// As many as there are rows.
    Rows,
    /// A number.
    Size(usize),
}

/// A value of the graph, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value(String);

impl Value {
    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

/// A graph. See the [module](self).
#[derive(Debug)]
pub(super) struct Graph {
    taken: BTreeSet<String>,
    /// The number to try next after a name, so that many of one name do not take their square in time.
    next: BTreeMap<String, usize>,
    nodes: Vec<Message>,
    constants: Vec<(Constant, Value)>,
    /// Small constants, by their bytes.
    known: BTreeMap<Vec<u8>, Value>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    /// Bytes of all constants, about.
    size: usize,
    opset: i64,
}

impl Graph {
    /// An empty graph in which these names, of inputs, are not given to anything else.
    pub(super) fn new(inputs: impl IntoIterator<Item = String>) -> Self {
        let (nodes, constants, outputs) = (Vec::new(), Vec::new(), Vec::new());
        let (next, known) = (BTreeMap::new(), BTreeMap::new());
        let taken = inputs.into_iter().collect();
        // The first set in which text can be compared.
        let (inputs, size, opset) = (Vec::new(), 0, 19);
        Self { taken, next, nodes, constants, known, inputs, outputs, size, opset }
    }

    /// The version of the operators that it needs.
    pub(super) fn opset(&self) -> i64 {
        self.opset
    }

    /// Says that an operator of this version is used.
    pub(super) fn needs(&mut self, opset: i64) {
        self.opset = self.opset.max(opset);
    }

    /// Bytes of all constants, about.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A name that nothing else has: this one, or with a number after it.
    fn name(&mut self, like: &str) -> String {
        let mut name = like.to_string();
        let number = self.next.entry(name.clone()).or_insert(2);
        while self.taken.contains(&name) {
            name = format!("{like}_{number}");
            *number += 1;
        }
        self.taken.insert(name.clone());
        name
    }

    /// An input of this name, which is one of those that were kept.
    pub(super) fn input(&mut self, name: &str, element: Element, dims: &[Dim]) -> Value {
        self.inputs.push(value_info(name, element, dims));
        Value(name.into())
    }

    /// A constant; equal small ones are one.
    pub(super) fn constant(&mut self, constant: Constant) -> Value {
        if constant.size() > SMALL {
            return self.named("constant", constant);
        }
        let bytes = constant.tensor("").into_bytes();
        if let Some(value) = self.known.get(&bytes) {
            return value.clone();
        }
        let value = self.named("constant", constant);
        self.known.insert(bytes, value.clone());
        value
    }

    /// A constant with a name of its own.
    pub(super) fn named(&mut self, name: &str, constant: Constant) -> Value {
        let value = Value(self.name(name));
        self.size = self.size.saturating_add(constant.size());
        self.constants.push((constant, value.clone()));
        value
    }

    /// What an operator makes of values.
    pub(super) fn op(&mut self, operator: &str, inputs: &[&Value]) -> Value {
        self.op_with(operator, inputs, &[])
    }

    /// What an operator makes of values, with attributes.
    pub(super) fn op_with(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute)],
    ) -> Value {
        let output = Value(self.name(&operator.to_lowercase()));
        self.node(operator, inputs, &[&output], attributes);
        output
    }

    /// Text in parts, N × 1 × as many as the longest has. The operator has a second output, which is not used.
    pub(super) fn parts(&mut self, text: &Value, attributes: &[(&str, Attribute)]) -> Value {
        let (parts, counts) = (Value(self.name("parts")), Value(self.name("counts")));
        self.node("StringSplit", &[text], &[&parts, &counts], attributes);
        parts
    }

    fn node(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        outputs: &[&Value],
        attributes: &[(&str, Attribute)],
    ) {
        let mut node = Message::new();
        inputs.iter().for_each(|input| node.text(1, input.name()));
        outputs.iter().for_each(|output| node.text(2, output.name()));
        outputs.iter().take(1).for_each(|output| node.text(3, output.name()));
        node.text(4, operator);
        attributes.iter().for_each(|(name, value)| node.message(5, &value.message(name)));
        self.nodes.push(node);
    }

    /// The same values as another kind of element.
    pub(super) fn cast(&mut self, value: &Value, to: Element) -> Value {
        self.op_with("Cast", &[value], &[("to", Attribute::Int(to as i64))])
    }

    /// Values side by side; one alone as it is.
    pub(super) fn side_by_side(&mut self, values: &[Value]) -> Option<Value> {
        match values {
            [] => None,
            [value] => Some(value.clone()),
            values => {
                let values: Vec<&Value> = values.iter().collect();
                Some(self.op_with("Concat", &values, &[("axis", Attribute::Int(1))]))
            }
        }
    }

    /// For each row, whether a column of true and false is true somewhere.
    pub(super) fn any(&mut self, flags: &Value) -> Value {
        let numbers = self.cast(flags, Element::Float);
        let columns = self.constant(Constant::ints(&[1]));
        let largest = self.op("ReduceMax", &[&numbers, &columns]);
        self.cast(&largest, Element::Bool)
    }

    /// Makes a value an output called like this, or with a number after it if an input has the name; says how it is called.
    pub(super) fn output(
        &mut self,
        like: &str,
        value: &Value,
        element: Element,
        dims: &[Dim],
    ) -> String {
        let name = self.name(like);
        self.node("Identity", &[value], &[&Value(name.clone())], &[]);
        self.outputs.push(value_info(&name, element, dims));
        name
    }

    /// The file: the graph, called like this, with entries of metadata.
    pub(super) fn into_model(
        self,
        name: &str,
        description: &str,
        metadata: &[(&str, String)],
    ) -> Vec<u8> {
        let mut graph = Message::new();
        self.nodes.iter().for_each(|node| graph.message(1, node));
        graph.text(2, name);
        for (constant, value) in &self.constants {
            graph.message(5, &constant.tensor(value.name()));
        }
        self.inputs.iter().for_each(|input| graph.message(11, input));
        self.outputs.iter().for_each(|output| graph.message(12, output));
        let mut opset = Message::new();
        opset.text(1, "");
        opset.int(2, self.opset);
        let mut model = Message::new();
        model.int(1, IR_VERSION);
        model.text(2, "feasible");
        model.text(3, env!("CARGO_PKG_VERSION"));
        model.text(6, description);
        model.message(7, &graph);
        model.message(8, &opset);
        for (key, value) in metadata {
            let mut entry = Message::new();
            entry.text(1, key);
            entry.text(2, value);
            model.message(14, &entry);
        }
        model.into_bytes()
    }
}

fn value_info(name: &str, element: Element, dims: &[Dim]) -> Message {
    let mut shape = Message::new();
    for dim in dims {
        let mut one = Message::new();
        match dim {
            Dim::Rows => one.text(2, "N"),
            Dim::Size(size) => one.int(1, *size as i64),
        }
        shape.message(1, &one);
    }
    let mut tensor = Message::new();
    tensor.int(1, element as i64);
    tensor.message(2, &shape);
    let mut kind = Message::new();
    kind.message(1, &tensor);
    let mut value = Message::new();
    value.text(1, name);
    value.message(2, &kind);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_given_once_and_equal_constants_are_one() {
        let mut graph = Graph::new(["label", "add", "add_3"].map(String::from));
        let x = graph.input("add", Element::Double, &[Dim::Rows, Dim::Size(1)]);
        let constant = graph.constant(Constant::double(1.5));
        assert_eq!(graph.constant(Constant::double(1.5)), constant);
        assert_ne!(graph.constant(Constant::float(1.5)), constant);
        assert_ne!(graph.constant(Constant::doubles(vec![1.5])), constant);
        let nan = graph.constant(Constant::float(f32::NAN));
        assert_eq!(graph.constant(Constant::float(f32::NAN)), nan);
        let sum = graph.op("Add", &[&x, &constant]);
        assert_eq!(sum.name(), "add_2");
        assert_eq!(graph.op("Add", &[&sum, &constant]).name(), "add_4");
        assert_eq!(graph.output("label", &sum, Element::Double, &[Dim::Rows]), "label_2");
    }
}
