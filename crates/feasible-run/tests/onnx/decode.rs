//! Reads the protocol buffers of an ONNX file, as far as the tests look at them, and insists that they are well formed.

use std::collections::{BTreeMap, BTreeSet};

/// A field: its number, and what it holds.
enum Field<'b> {
    Varint(u64),
    Bytes(&'b [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a number of more than ten bytes");
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Varint(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (own, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(own)
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn ints(mut bytes: &[u8]) -> Vec<i64> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        values.push(varint(&mut bytes) as i64);
    }
    values
}

/// Elements of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Numbers, true and false; and ONNX's number of their type.
    Numbers(Vec<f64>, i64),
    Texts(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dims: Vec<usize>,
    pub data: Data,
}

pub const FLOAT: i64 = 1;
pub const INT64: i64 = 7;
pub const TEXT: i64 = 8;
pub const BOOL: i64 = 9;
pub const DOUBLE: i64 = 11;

#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Int(i64),
    Text(String),
    Ints(Vec<i64>),
}

#[derive(Clone, Debug)]
pub struct Node {
    pub operator: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attributes: BTreeMap<String, Attribute>,
}

/// An input or output: its name, the type of its elements, its sizes (`None` is a name).
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    pub name: String,
    pub element: i64,
    pub shape: Vec<Option<usize>>,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub ir_version: i64,
    pub producer: String,
    pub opsets: Vec<(String, i64)>,
    pub metadata: BTreeMap<String, String>,
    pub nodes: Vec<Node>,
    pub constants: BTreeMap<String, Tensor>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

impl Model {
    pub fn read(bytes: &[u8]) -> Self {
        let mut model = Self::default();
        for (number, field) in fields(bytes) {
            match (number, field) {
                (1, Field::Varint(version)) => model.ir_version = version as i64,
                (2, Field::Bytes(name)) => model.producer = text(name),
                (3 | 6, Field::Bytes(_)) => {}
                (7, Field::Bytes(graph)) => model.graph(graph),
                (8, Field::Bytes(opset)) => {
                    let mut entry = (String::new(), 0);
                    for (number, field) in fields(opset) {
                        match (number, field) {
                            (1, Field::Bytes(domain)) => entry.0 = text(domain),
                            (2, Field::Varint(version)) => entry.1 = version as i64,
                            (number, _) => panic!("field {number} of an operator set"),
                        }
                    }
                    model.opsets.push(entry);
                }
                (14, Field::Bytes(entry)) => {
                    let [key, value] = [1, 2].map(|wanted| {
                        let found = fields(entry).into_iter().find(|(number, _)| *number == wanted);
                        let Some((_, Field::Bytes(found))) = found else { panic!("metadata") };
                        text(found)
                    });
                    model.metadata.insert(key, value);
                }
                (number, _) => panic!("field {number} of a model"),
            }
        }
        model
    }

    fn graph(&mut self, bytes: &[u8]) {
        for (number, field) in fields(bytes) {
            let Field::Bytes(bytes) = field else { panic!("field {number} of a graph") };
            match number {
                1 => self.nodes.push(node(bytes)),
                2 => assert!(!bytes.is_empty(), "a graph without a name"),
                5 => {
                    let (name, tensor) = tensor(bytes);
                    assert_eq!(self.constants.insert(name.clone(), tensor), None, "{name} twice");
                }
                11 => self.inputs.push(port(bytes)),
                12 => self.outputs.push(port(bytes)),
                number => panic!("field {number} of a graph"),
            }
        }
    }

    /// Every name is given once and before it is read; every constant is used; outputs are computed.
    pub fn insist_on_order(&self) {
        let mut known: BTreeSet<&str> = self.constants.keys().map(String::as_str).collect();
        for input in &self.inputs {
            assert!(known.insert(&input.name), "{} is a constant, too", input.name);
        }
        let mut read = BTreeSet::new();
        for node in &self.nodes {
            for name in &node.inputs {
                assert!(known.contains(name.as_str()), "{name} is read before it is computed");
                read.insert(name.as_str());
            }
            for name in &node.outputs {
                assert!(!name.is_empty() && known.insert(name), "{name} is computed twice");
            }
        }
        let unused: Vec<&String> =
            self.constants.keys().filter(|name| !read.contains(name.as_str())).collect();
        assert!(unused.is_empty(), "{unused:?} are read by no node");
        for input in &self.inputs {
            assert!(read.contains(input.name.as_str()), "input {} is not read", input.name);
        }
        for output in &self.outputs {
            assert!(known.contains(output.name.as_str()), "output {} is not computed", output.name);
        }
    }
}

fn node(bytes: &[u8]) -> Node {
    let (inputs, outputs, attributes) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut node = Node { operator: String::new(), inputs, outputs, attributes };
    for (number, field) in fields(bytes) {
        let Field::Bytes(bytes) = field else { panic!("field {number} of a node") };
        match number {
            1 => node.inputs.push(text(bytes)),
            2 => node.outputs.push(text(bytes)),
            3 => {}
            4 => node.operator = text(bytes),
            5 => {
                let (name, value) = attribute(bytes);
                node.attributes.insert(name, value);
            }
            // In particular no domain: every operator is of the default set.
            number => panic!("field {number} of a node"),
        }
    }
    node
}

fn attribute(bytes: &[u8]) -> (String, Attribute) {
    let (mut name, mut value, mut kind) = (String::new(), None, 0);
    for (number, field) in fields(bytes) {
        match (number, field) {
            (1, Field::Bytes(bytes)) => name = text(bytes),
            (3, Field::Varint(int)) => value = Some((2, Attribute::Int(int as i64))),
            (4, Field::Bytes(bytes)) => value = Some((3, Attribute::Text(text(bytes)))),
            (8, Field::Bytes(bytes)) => value = Some((7, Attribute::Ints(ints(bytes)))),
            (20, Field::Varint(found)) => kind = found,
            (number, _) => panic!("field {number} of an attribute"),
        }
    }
    let (expected, value) = value.unwrap();
    assert_eq!(kind, expected, "type of the attribute {name}");
    (name, value)
}

fn tensor(bytes: &[u8]) -> (String, Tensor) {
    let (mut name, mut dims, mut element) = (String::new(), Vec::new(), 0);
    let (mut texts, mut raw) = (Vec::new(), None);
    for (number, field) in fields(bytes) {
        match (number, field) {
            (1, Field::Bytes(bytes)) => {
                dims = ints(bytes).into_iter().map(|n| n as usize).collect()
            }
            (2, Field::Varint(found)) => element = found as i64,
            (6, Field::Bytes(bytes)) => texts.push(text(bytes)),
            (8, Field::Bytes(bytes)) => name = text(bytes),
            (9, Field::Bytes(bytes)) => raw = Some(bytes),
            (number, _) => panic!("field {number} of a tensor"),
        }
    }
    let data = match (element, raw) {
        (TEXT, None) => Data::Texts(texts),
        (FLOAT, Some(raw)) => {
            let number = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().unwrap()));
            Data::Numbers(raw.chunks(4).map(number).collect(), element)
        }
        (DOUBLE, Some(raw)) => {
            let number = |b: &[u8]| f64::from_le_bytes(b.try_into().unwrap());
            Data::Numbers(raw.chunks(8).map(number).collect(), element)
        }
        (INT64, Some(raw)) => {
            let number = |b: &[u8]| i64::from_le_bytes(b.try_into().unwrap()) as f64;
            Data::Numbers(raw.chunks(8).map(number).collect(), element)
        }
        (element, _) => panic!("tensor {name} of elements {element}"),
    };
    let tensor = Tensor { dims, data };
    assert_eq!(tensor.dims.iter().product::<usize>(), tensor.len(), "sizes of {name}");
    (name, tensor)
}

fn port(bytes: &[u8]) -> Port {
    let inside = |bytes: &[u8], wanted: u64| -> Vec<Vec<u8>> {
        let found = fields(bytes).into_iter().filter(|(number, _)| *number == wanted);
        let bytes = found.map(|(_, field)| match field {
            Field::Bytes(bytes) => bytes.to_vec(),
            _ => panic!("field {wanted} is no message"),
        });
        bytes.collect()
    };
    let name = text(&inside(bytes, 1)[0]);
    let tensor = &inside(&inside(bytes, 2)[0], 1)[0];
    let element = fields(tensor).into_iter().find_map(|(number, field)| match (number, field) {
        (1, Field::Varint(element)) => Some(element as i64),
        _ => None,
    });
    let dims = inside(&inside(tensor, 2)[0], 1);
    let dim = |dim: &Vec<u8>| match &fields(dim)[..] {
        [(1, Field::Varint(size))] => Some(*size as usize),
        [(2, Field::Bytes(name))] => {
            assert_eq!(text(name), "N");
            None
        }
        _ => panic!("a dimension"),
    };
    Port { name, element: element.unwrap(), shape: dims.iter().map(dim).collect() }
}

impl Tensor {
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Numbers(x, _) => x.len(),
            Data::Texts(x) => x.len(),
        }
    }

    pub fn numbers(&self) -> &[f64] {
        match &self.data {
            Data::Numbers(x, _) => x,
            Data::Texts(_) => panic!("text where numbers are needed"),
        }
    }

    pub fn texts(&self) -> &[String] {
        match &self.data {
            Data::Texts(x) => x,
            Data::Numbers(..) => panic!("numbers where text is needed"),
        }
    }

    pub fn element(&self) -> i64 {
        match &self.data {
            Data::Numbers(_, element) => *element,
            Data::Texts(_) => TEXT,
        }
    }
}
