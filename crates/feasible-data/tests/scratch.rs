//! The program's allocator with large lists on disk. One test: a process begins once.

#![cfg(target_os = "linux")]

use std::process::exit;

use feasible_data::scratch::{self, Allocator, LARGE};

fn full(_: usize) -> ! {
    exit(3)
}

#[global_allocator]
static MEMORY: Allocator = Allocator::new(full, full);

#[test]
fn lists_keep_their_contents_whether_they_grow_shrink_or_move_and_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    assert!(scratch::is_possible() && !scratch::is_begun());
    let early: Vec<u32> = (0..LARGE as u32).collect();
    assert!(scratch::begin(&directory.path().join("none")).is_err());
    scratch::begin(directory.path()).unwrap();
    scratch::begin(directory.path()).unwrap();
    // The file has no name.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let begun = scratch::used();
    // Random lists that are pushed to, truncated, shrunk, cloned and dropped, by several threads.
    let work = |seed: u64| {
        let mut state = seed;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut lists: Vec<Vec<u64>> = Vec::new();
        for step in 0..300 {
            match next(6) {
                0 => lists.push(vec![0; next(80_000)]),
                1 => lists.push((0..next(80_000) as u64).collect()),
                2 if !lists.is_empty() => {
                    let at = next(lists.len());
                    drop(lists.swap_remove(at));
                }
                3 if !lists.is_empty() => {
                    let (at, more) = (next(lists.len()), next(50_000) as u64);
                    let from = lists[at].len() as u64;
                    lists[at].extend(from..from + more);
                }
                4 if !lists.is_empty() => {
                    let (at, length) = (next(lists.len()), next(80_000));
                    lists[at].truncate(length);
                    lists[at].shrink_to_fit();
                }
                _ if lists.len() > 2 => {
                    let (at, copy) = (next(lists.len()), lists[0].clone());
                    lists[at] = copy;
                }
                _ => {}
            }
            for list in &lists {
                // Zeros, or their places: from some place on only the latter.
                let zeros = list.iter().take_while(|&&x| x == 0).count();
                let rest = list.iter().enumerate().skip(zeros);
                assert!(rest.into_iter().all(|(at, &x)| x == at as u64), "step {step}");
            }
        }
    };
    std::thread::scope(|scope| {
        (1..4).for_each(|seed| drop(scope.spawn(move || work(seed))));
    });
    assert_eq!(scratch::used(), begun);
    let large = vec![1_u8; 10 * LARGE];
    assert!(scratch::used() >= begun + 10 * LARGE);
    assert!(early.iter().copied().eq(0..LARGE as u32));
    // A list from before grows into the file.
    let mut early = early;
    early.extend(0..3);
    assert!(early.iter().copied().eq((0..LARGE as u32).chain(0..3)));
    drop((large, early));
    assert_eq!(scratch::used(), begun);
    assert!(scratch::free_bytes(directory.path()).unwrap() > 0);
}
