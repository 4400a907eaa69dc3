//! Lists that start at a cache line.

use feasible::aligned::AlignedVec;

#[test]
fn numbers_start_at_a_cache_line_and_stay() {
    let mut list: AlignedVec<f32> = AlignedVec::new();
    assert!(list.is_empty());
    for len in [5, 100, 0, 17] {
        let numbers = list.place(len);
        assert!(numbers.len() == len && numbers.as_ptr().addr().is_multiple_of(64));
        for (i, x) in numbers.iter_mut().enumerate() {
            *x = i as f32;
        }
        let expected: Vec<f32> = (0..len).map(|i| i as f32).collect();
        assert_eq!(&*list, &expected[..]);
        assert_eq!(list.place(len), &expected[..]);
    }
}
