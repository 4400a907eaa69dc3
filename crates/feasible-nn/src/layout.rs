//! Where each tensor lies in the flat θ, for whoever saves or reads weights by name.

/// A tensor that is a stretch of θ, in row order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Such as `layer1.weight`.
    pub name: String,
    /// Its dimensions, the slowest first.
    pub shape: Vec<usize>,
    /// Where it starts in θ.
    pub offset: usize,
}

impl Tensor {
    /// How many numbers it has.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part of θ that it is.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len()
    }
}

/// Tensors one after the other.
pub(crate) fn consecutive(tensors: impl IntoIterator<Item = (String, Vec<usize>)>) -> Vec<Tensor> {
    let mut offset = 0;
    let mut place = |(name, shape)| {
        let tensor = Tensor { name, shape, offset };
        offset += tensor.len();
        tensor
    };
    tensors.into_iter().map(&mut place).collect()
}
