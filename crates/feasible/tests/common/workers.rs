//! Workers that are threads of one process.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use feasible::Reduce;

/// A worker, with a line to and from each one, itself included.
#[derive(Debug)]
struct Worker {
    number: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

/// So many, in order.
pub fn workers(count: usize) -> Vec<Arc<dyn Reduce>> {
    let worker = |number| Worker { number, to: Vec::new(), from: Vec::new() };
    let mut all: Vec<Worker> = (0..count).map(worker).collect();
    for from in 0..count {
        for to in 0..count {
            let (sender, receiver) = channel();
            all[from].to.push(sender);
            all[to].from.push(Mutex::new(receiver));
        }
    }
    all.into_iter().map(|worker| Arc::new(worker) as Arc<dyn Reduce>).collect()
}

impl Reduce for Worker {
    fn workers(&self) -> usize {
        self.to.len()
    }

    fn worker(&self) -> usize {
        self.number
    }

    fn send(&self, to: usize, message: &[u8]) {
        self.to[to].send(message.to_vec()).expect("a worker is lost");
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        let line = self.from[from].lock().expect("a worker is lost");
        line.recv_timeout(Duration::from_secs(60)).expect("a worker is lost")
    }
}
