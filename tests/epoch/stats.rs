//! Statistics and tags.

use flatslab::epoch::{EpochBytes, EpochError, EpochSlab, EpochState, InsertError, Stats};
use flatslab::{AllocError, BuildError, SizeError};

#[test]
fn a_tag_is_that_of_its_epoch_until_it_is_over() {
    let slab = EpochSlab::builder().epochs(1).build();
    let epochs = [1, 2, 3].map(|tag| {
        let epoch = slab.current();
        assert_eq!(slab.epoch_stats(epoch).unwrap().tag, 0);
        assert!(slab.set_tag(epoch, tag));
        if tag != 2 {
            slab.insert(7);
        }
        slab.advance();
        epoch
    });
    let found = epochs.map(|epoch| slab.epoch_stats(epoch).map(|stats| stats.tag));
    assert_eq!(found, [Some(1), None, Some(3)]);
    assert!(!slab.set_tag(epochs[1], 1));
    assert!(slab.set_tag(epochs[0], u64::MAX));
    assert_eq!(slab.epoch_stats(epochs[0]).unwrap().tag, u64::MAX);
}

#[test]
fn figures_of_an_epoch_are_frozen_when_it_is_closed() {
    let slab = EpochSlab::<u64>::builder().chunk_capacity(2).build();
    let epoch = slab.current();
    let keys: Vec<_> = (0..8).map(|value| slab.insert(value)).collect();
    for key in &keys[..4] {
        slab.take(*key).unwrap();
    }
    let before = slab.epoch_stats(epoch).unwrap();
    assert_eq!(
        (before.chunks, before.live, before.recycled_fraction()),
        (4, 4, None)
    );
    assert_eq!((before.committed_bytes, before.live_bytes), (64, 32));
    slab.advance_and_close();
    slab.take(keys[4]).unwrap();
    slab.take(keys[5]).unwrap();
    let after = slab.epoch_stats(epoch).unwrap();
    assert_eq!((after.scanned, after.recycled, after.age), (4, 2, 1));
    assert_eq!((after.chunks, after.pinned_chunks, after.live), (1, 1, 2));
    assert_eq!(
        (after.recycled_fraction(), slab.stats().recycled_fraction()),
        (Some(0.5), Some(0.5))
    );
    assert_eq!((slab.stats().closed, slab.stats().recycled), (1, 2));
    assert_eq!(Stats::default().recycled_fraction(), None);
}

#[test]
fn live_bytes_of_buffers_are_those_asked_for() {
    let bytes = EpochBytes::builder().chunk_bytes(1024).build();
    for len in [0, 1, 64, 65, 100, 1000] {
        bytes.alloc(len).fill(1);
    }
    let stats = bytes.epoch_stats(bytes.current()).unwrap();
    assert_eq!((stats.live, stats.live_bytes), (6, 1230));
    // Of 64, 96, 128 and 1024 bytes: one chunk of each class.
    assert_eq!(
        (stats.chunks, stats.committed_bytes),
        (4, 1024 + 960 + 1024 + 1024)
    );
    assert_eq!(bytes.stats().live_bytes, 1230);
}

#[test]
fn lengths_of_buffers_at_the_ends_of_their_classes() {
    let bytes = EpochBytes::builder().largest(700).build();
    let largest = bytes.largest();
    assert_eq!(largest, 768);
    for len in [0, 1, 63, 64, 65, 95, 96, 97, 128, 129, 767, largest] {
        let mut buf = bytes.try_alloc_in(bytes.current(), len).unwrap();
        assert!(buf.len() == len && buf.iter().all(|byte| *byte == 0));
        assert_eq!(buf.as_ptr() as usize % 32, 0);
        buf.fill(0xff);
        let key = buf.key();
        drop(buf);
        assert!(bytes.remove(key));
        let copied = bytes.try_copy_in(bytes.permanent(), &vec![7; len]).unwrap();
        assert_eq!(*bytes.get(copied).unwrap(), vec![7; len]);
    }
    for len in [largest + 1, 1 << 20, isize::MAX as usize, usize::MAX] {
        let expected = InsertError::TooLarge(
            (),
            SizeError {
                size: len,
                limit: largest,
            },
        );
        assert_eq!(
            bytes.try_alloc_in(bytes.current(), len).unwrap_err(),
            expected
        );
        assert!(crate::common::panics(|| bytes.alloc(len)));
    }
}

#[test]
fn memory_goes_back_as_it_says() {
    let slab = EpochSlab::<[u8; 100]>::builder()
        .chunk_capacity(10)
        .cached_chunks(2)
        .build();
    let keys: Vec<_> = (0..50).map(|_| slab.insert([0; 100])).collect();
    for key in keys {
        slab.take(key).unwrap();
    }
    let (_, report) = slab.advance_and_close();
    assert_eq!((report.recycled, report.released_bytes), (5, 3000));
    let stats = slab.stats();
    assert_eq!((stats.cached_chunks, stats.committed_bytes), (2, 2000));
    assert_eq!(slab.shrink_to_fit(), 2000);
    slab.insert([1; 100]);
    let (_, report) = slab.advance_and_close();
    assert_eq!((report.pinned, report.released_bytes), (1, 0));
    // The bound is as it was, until it is set.
    slab.insert([2; 100]);
    slab.clear_epoch(slab.current());
    assert_eq!(slab.stats().cached_chunks, 1);
    assert_eq!((slab.set_cached_chunks(0), slab.shrink_to_fit()), (1000, 0));
    slab.insert([3; 100]);
    slab.clear_epoch(slab.current());
    assert_eq!(slab.stats().cached_chunks, 0);
}

#[test]
fn every_state_and_error_says_what_it_is() {
    let slab = EpochSlab::<u64>::new();
    let key = slab.insert(7);
    let text = format!("{slab:?} {:?} {key:?} {:?}", slab.current(), slab.enter());
    for part in ["Epochs", "ring: 16", "Epoch {", "EpochKey", "EpochGuard"] {
        assert!(text.contains(part), "{text}");
    }
    let mut other = EpochSlab::<u64>::new();
    other.scope(|scope| assert!(format!("{scope:?}").contains("Scope")));
    assert!(format!("{:?}", EpochSlab::<u64>::builder().clone()).contains("chunk_capacity: 64"));
    assert_eq!(format!("{:?}", EpochState::Pinned), "Pinned");

    let full = AllocError::Limit { bytes: 8, limit: 7 };
    let errors: Vec<Box<dyn std::error::Error>> = vec![
        Box::new(InsertError::Closing(())),
        Box::new(InsertError::Closed(())),
        Box::new(InsertError::Foreign(())),
        Box::new(InsertError::Full((), full)),
        Box::new(EpochError::Current),
        Box::new(EpochError::Permanent),
        Box::new(EpochError::Closed),
        Box::new(EpochError::Foreign),
        Box::new(EpochError::Foreign),
        Box::new(EpochError::Borrowed(key)),
        Box::new(InsertError::Closing(())),
        Box::new(InsertError::Closed(())),
        Box::new(InsertError::Foreign(())),
        Box::new(InsertError::Full((), full)),
        Box::new(InsertError::TooLarge((), SizeError { size: 9, limit: 8 })),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.len() > 10 && !text.ends_with('.'), "{text}");
        let has_source = format!("{error:?}").starts_with("Full");
        assert_eq!(error.source().is_some(), has_source);
    }
    let built = EpochSlab::<u64>::builder().epochs(0).try_build();
    assert!(matches!(
        built,
        Err(BuildError::OutOfRange {
            option: "epochs",
            ..
        })
    ));
}
