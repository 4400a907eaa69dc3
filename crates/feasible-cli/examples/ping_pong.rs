//! How long ranks take to add up a list of numbers and to tell all of them the sum, as they do in every step of a training.
//!
//! ```text
//! mpirun -n 2 target/release/examples/ping_pong
//! ```
//!
//! The messages are those of a training: up a tree of the ranks and down again, through the same code, with numbers turned into bytes and back. On two
//! ranks it is a ping-pong. One line of JSON for each length. `bench/scale --ranks` runs it.
//!
//! Then one number is added up again and again, and every rank computes before each time: as many iterations of a fixed loop on every rank. What that takes beyond
//! computing and messages is lost in waiting, for ranks that are late and, where there are more ranks than cores, for a core. One line of JSON for each number of iterations.
//!
//! On one rank: how long it takes to go through rows, of which a rank has to know all, in a random order, and how long an iteration takes. One line of JSON.
#![allow(dead_code, reason = "modules of the program, of which an example needs a part")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is what it is for")]

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
/// Iterations between two messages: about 0.1 to 12 ms.
const ITERATIONS: [u64; 5] = [1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 22];

fn main() -> io::Result<()> {
    let world = World::join(Duration::from_secs(60), |sentence| eprintln!("{sentence}"))?;
    if world.workers() == 1 {
        let seconds = (0..3).map(|_| look(1 << 24)).fold(f64::INFINITY, f64::min);
        let iteration = (0..5).map(|_| compute(1 << 24)).fold(f64::INFINITY, f64::min);
        println!(r#"{{"row":{seconds:e},"iteration":{iteration:e}}}"#);
        world.leave();
        return Ok(());
    }
    let ranks = world.workers();
    for numbers in [1, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20] {
        let mut list = vec![1.0_f32; numbers];
        let seconds = measure(&world, || add_up(&world, &mut list));
        if world.worker() == 0 {
            println!(r#"{{"ranks":{ranks},"bytes":{},"seconds":{seconds:e}}}"#, 4 * numbers);
        }
    }
    for iterations in ITERATIONS {
        let mut list = [1.0_f32];
        let seconds = measure(&world, || {
            compute(iterations);
            add_up(&world, &mut list);
        });
        if world.worker() == 0 {
            println!(r#"{{"ranks":{ranks},"iterations":{iterations},"seconds":{seconds:e}}}"#);
        }
    }
    world.leave();
    Ok(())
}

/// Seconds of what all ranks do together: of some parts the lower quartile, to which others on the machine add little.
fn measure(world: &World, mut once: impl FnMut()) -> f64 {
    // As often as fits into a part, by the clock of the first rank.
    let began = Instant::now();
    (0..4).for_each(|_| once());
    let one = began.elapsed().as_secs_f64() / 4.0;
    let times = ((SECONDS / PARTS as f64 / one) as u64).clamp(1, 1 << 20);
    let mut times = times.to_le_bytes().to_vec();
    world.broadcast(0, &mut times);
    let times = u64::from_le_bytes(times.try_into().unwrap_or_default());
    let mut parts = Vec::new();
    for _ in 0..PARTS {
        let began = Instant::now();
        (0..times).for_each(|_| once());
        parts.push(began.elapsed().as_secs_f64() / times as f64);
    }
    parts.sort_by(f64::total_cmp);
    parts[PARTS / 4]
}

/// Seconds of an iteration, each of which needs the one before.
fn compute(iterations: u64) -> f64 {
    let began = Instant::now();
    std::hint::black_box((0..iterations).fold(1, |x, _| random(x)));
    began.elapsed().as_secs_f64() / iterations as f64
}

/// Seconds a row of what every rank does with all rows of an epoch: shuffling them, counting those of each of its shards, sorting them by shard.
fn look(rows: u32) -> f64 {
    let of_row: Vec<u8> = (0..rows).map(|row| (random(u64::from(row)) % 64) as u8).collect();
    let mut order: Vec<u32> = (0..rows).collect();
    let began = Instant::now();
    for at in (1..order.len()).rev() {
        order.swap(at, (random(at as u64) % (at as u64 + 1)) as usize);
    }
    let mut own = Vec::new();
    for batch in order.chunks(4096) {
        let (mut occupied, mut starts) = (0_u64, [0; 65]);
        for shard in batch.iter().map(|&row| of_row[row as usize]) {
            occupied |= 1 << shard;
            starts[usize::from(shard) + 1] += usize::from(shard < 32);
        }
        (0..64).for_each(|shard| starts[shard + 1] += starts[shard]);
        own.resize(starts[64], 0);
        for &row in batch.iter().filter(|&&row| of_row[row as usize] < 32) {
            let next = &mut starts[usize::from(of_row[row as usize])];
            own[*next] = row;
            *next += 1;
        }
        std::hint::black_box((occupied, &own));
    }
    began.elapsed().as_secs_f64() / f64::from(rows)
}

/// One of a fixed sequence of pseudo-random numbers (splitmix64).
fn random(at: u64) -> u64 {
    let z = at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
