//! How long ranks take to add up a list of numbers and to tell all of them the sum, as they do in every step of a training.
//!
//! ```text
//! mpirun -n 2 target/release/examples/ping_pong
//! ```
//!
//! The messages are those of a training: up a tree of the ranks and down again, through the same code, with numbers turned into bytes and back. On two
//! ranks it is a ping-pong. One line of JSON for each length. `bench/scale --ranks` runs it.
#![allow(dead_code, reason = "modules of the program, of which an example needs a part")]

#[path = "../src/ranks/line.rs"]
mod line;
#[path = "../src/ranks/world.rs"]
mod world;

use std::io;
use std::time::{Duration, Instant};

use feasible::Reduce;
use world::World;

/// Seconds that one length is measured for, and in how many parts.
const SECONDS: f64 = 0.4;
const PARTS: usize = 8;

fn main() -> io::Result<()> {
    let world = World::join(Duration::from_secs(60), |sentence| eprintln!("{sentence}"))?;
    for numbers in [1, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20] {
        let mut list = vec![1.0_f32; numbers];
        // As often as fits into a part, by the clock of the first rank.
        let began = Instant::now();
        (0..4).for_each(|_| add_up(&*world, &mut list));
        let one = began.elapsed().as_secs_f64() / 4.0;
        let mut times =
            ((SECONDS / PARTS as f64 / one) as u64).clamp(1, 1 << 20).to_le_bytes().to_vec();
        world.broadcast(0, &mut times);
        let times = u64::from_le_bytes(times.try_into().unwrap_or_default());
        let mut parts = Vec::new();
        for _ in 0..PARTS {
            let began = Instant::now();
            (0..times).for_each(|_| add_up(&*world, &mut list));
            parts.push(began.elapsed().as_secs_f64() / times as f64);
        }
        parts.sort_by(f64::total_cmp);
        if world.worker() == 0 {
            let (ranks, bytes) = (world.workers(), 4 * numbers);
            // Others on the machine add little to the lower quartile.
            let seconds = parts[PARTS / 4];
            println!(r#"{{"ranks":{ranks},"bytes":{bytes},"seconds":{seconds:e}}}"#);
        }
    }
    world.leave();
    Ok(())
}

/// Adds up the lists of all ranks, along a tree, and gives the sum to each.
fn add_up(world: &World, list: &mut [f32]) {
    let (workers, worker) = (world.workers(), world.worker());
    let mut step = 1;
    while step < workers {
        if worker & step != 0 {
            world.send(worker - step, &message(list));
            break;
        }
        if worker + step < workers {
            read(&world.receive(worker + step), list, |to, x| *to += x);
        }
        step *= 2;
    }
    let mut sum = message(list);
    world.broadcast(0, &mut sum);
    read(&sum, list, |to, x| *to = x);
}

fn message(list: &[f32]) -> Vec<u8> {
    list.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn read(message: &[u8], list: &mut [f32], take: impl Fn(&mut f32, f32)) {
    for (to, bytes) in list.iter_mut().zip(message.chunks_exact(4)) {
        take(to, f32::from_le_bytes(bytes.try_into().unwrap_or_default()));
    }
}
