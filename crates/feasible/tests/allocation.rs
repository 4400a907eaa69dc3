//! A training step allocates nothing: an epoch of many batches allocates as often as one of few.
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::people;
use feasible::{Learner, Loss, Model, Problem, Requirement, rho};
use feasible_nn::conv::{ConvNet, ConvShape};
use feasible_nn::{Activation, Adam, Mlp};

/// The system's allocator, counting.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's obligations are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steps_allocate_nothing_once_their_buffers_have_grown() {
    let people = people(640, 1);
    let flipped = people.counterfactual(rho::flip(0)).unwrap();
    let group = people.filter(|s| s.inputs()[0] == 1.0);
    let problem = Problem::minimise(&people, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("each", &flipped, Loss::Kl).at_most(1e-3))
        .subject_to(Requirement::average("group", &group, Loss::CrossEntropy).at_most(0.4))
        .check()
        .unwrap();
    check(&problem, &Mlp::new(&[6, 16, 16, 2], Activation::Sigmoid).unwrap());
    // The same people as images of 2 × 3 pixels.
    let model = ConvNet::resnet18(ConvShape::new(1, 2, 3), 2, 4).unwrap();
    check(&problem, &model);
}

fn check<M: Model<Real = f32>>(problem: &Problem, model: &M) {
    let allocations = |batch_size: usize| {
        let learner = Learner::alternating(Adam::new(0.01)).batch_size(batch_size).epochs(10);
        let mut training = learner.begin(problem, model).unwrap();
        for _ in 0..3 {
            training.advance().unwrap();
        }
        let before = CALLS.load(Ordering::Relaxed);
        training.advance().unwrap();
        CALLS.load(Ordering::Relaxed) - before
    };
    // The test harness allocates a little on its own threads; a step that allocated once
    // would make a difference of at least 70.
    let (few, many) = (allocations(64), allocations(8));
    assert!(many <= few + 5, "10 batches: {few} allocations, 80 batches: {many}");
}
