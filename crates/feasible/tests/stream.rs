//! Random numbers keyed by place.

use feasible::{Purpose, Stream};

#[test]
fn a_shuffle_is_a_permutation_and_depends_on_seed_epoch_and_purpose_only() {
    let order = |seed, epoch| {
        let mut items: Vec<u32> = (0..1000).collect();
        Stream::new(seed, Purpose::Shuffle, epoch, 0).shuffle(&mut items);
        items
    };
    assert_eq!(order(1, 0), order(1, 0));
    assert_ne!(order(1, 0), order(1, 1));
    assert_ne!(order(1, 0), order(2, 0));
    let mut sorted = order(1, 0);
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..1000));
}

#[test]
fn below_is_uniform() {
    let mut stream = Stream::new(3, Purpose::View, 0, 0);
    let mut counts = [0u32; 7];
    for _ in 0..70_000 {
        counts[stream.below(7) as usize] += 1;
    }
    // Six standard deviations of a binomial(70000, 1/7).
    assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 560), "{counts:?}");
}
