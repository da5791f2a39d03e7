//! Snapshots in formats that do not say what they contain: whatever is written is read back with the
//! same width, where pointers have 32 bits and where they have 64.

use std::fmt::Debug;

use bincode_1::Options;
use bincode_2::config;
use flatslab::key_slab::{Bounded, Storage, as_map};
use flatslab::{BoundedKeySlab, GenKey, Key, KeySlab, PlainSlab, key_type};
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde::{Deserialize, Serialize};

use crate::program::Numbers;

/// What a format makes of a value, and what it reads.
trait Format {
    const NAME: &str;

    fn write<T: Serialize>(value: &T) -> Vec<u8>;

    fn read<T: DeserializeOwned>(bytes: &[u8]) -> T;
}

/// A format, by an expression that writes and one that reads.
macro_rules! format {
    ($(#[$attribute:meta])* $format:ident, |$value:ident| $write:expr, |$bytes:ident| $read:expr) => {
        $(#[$attribute])*
        struct $format;

        impl Format for $format {
            const NAME: &str = stringify!($format);

            fn write<T: Serialize>($value: &T) -> Vec<u8> {
                $write
            }

            fn read<T: DeserializeOwned>($bytes: &[u8]) -> T {
                $read
            }
        }
    };
}

format! {
    /// Fixed widths: four bytes that were written are not eight that can be read.
    Bincode1,
    |value| bincode_1::serialize(value).unwrap(),
    |bytes| bincode_1::options().with_fixint_encoding().deserialize(bytes).unwrap()
}
format! {
    /// The same bytes, by other code.
    Bincode2Fixed,
    |value| bincode_2::serde::encode_to_vec(value, config::legacy()).unwrap(),
    |bytes| whole(bytes, bincode_2::serde::decode_from_slice(bytes, config::legacy()).unwrap())
}
format! {
    /// Numbers in as few bytes as they take, after a byte for their width.
    Bincode2,
    |value| bincode_2::serde::encode_to_vec(value, config::standard()).unwrap(),
    |bytes| whole(bytes, bincode_2::serde::decode_from_slice(bytes, config::standard()).unwrap())
}
format! {
    Postcard,
    |value| postcard::to_allocvec(value).unwrap(),
    |bytes| postcard::from_bytes(bytes).unwrap()
}
format! {
    /// Describes itself, as the next ones do.
    MessagePack,
    |value| rmp_serde::to_vec(value).unwrap(),
    |bytes| rmp_serde::from_slice(bytes).unwrap()
}
format! {
    Cbor,
    |value| {
        let mut bytes = Vec::new();
        ciborium::into_writer(value, &mut bytes).unwrap();
        bytes
    },
    |bytes| ciborium::from_reader(bytes).unwrap()
}
format! {
    Json,
    |value| serde_json::to_vec(value).unwrap(),
    |bytes| serde_json::from_slice(bytes).unwrap()
}

fn whole<T>(bytes: &[u8], (value, length): (T, usize)) -> T {
    assert_eq!(length, bytes.len());
    value
}

/// Runs a generic function once for each format.
macro_rules! in_every_format {
    ($function:ident($argument:expr)) => {
        $function::<Bincode1, _>($argument);
        $function::<Postcard, _>($argument);
        // Of other crates' code, an interpreter need not see more each time.
        if !cfg!(each_run) {
            $function::<Bincode2Fixed, _>($argument);
            $function::<Bincode2, _>($argument);
            $function::<MessagePack, _>($argument);
            $function::<Cbor, _>($argument);
            $function::<Json, _>($argument);
        }
    };
}

fn comes_back<F: Format, T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let bytes = F::write(value);
    let back: T = F::read(&bytes);
    assert_eq!(back, *value, "{}", F::NAME);
    assert_eq!(F::write(&back), bytes, "{}", F::NAME);
}

/// A slab in which nothing is as in a new one: free slots in an order of their own, with generations
/// kept ones and retired ones and a floor.
fn used<K: Numbers, S: Storage>(mut slab: PlainSlab<u64, K, S>) -> PlainSlab<u64, K, S> {
    let last = K::of(6, (1 << 30) - 2);
    slab.insert_at(last, 6).unwrap();
    slab.remove(last);
    let keys: Vec<_> = (0..6).map(|n| slab.try_insert(n << 40).unwrap()).collect();
    for key in [4, 1, 3] {
        slab.remove(keys[key]);
    }
    K::detach(&mut slab, keys[5]);
    slab
}

fn goes_on<F: Format, K: Numbers, S: Storage>(mut slab: PlainSlab<u64, K, S>) {
    let bytes = F::write(&slab);
    let mut back: PlainSlab<u64, K, S> = F::read(&bytes);
    assert_eq!(F::write(&back), bytes, "{}", F::NAME);
    assert_eq!(back, slab, "{}", F::NAME);
    for value in 0..20 {
        let key = slab.try_insert(value).ok();
        assert_eq!(back.try_insert(value).ok(), key, "{}", F::NAME);
    }
}

fn slabs_go_on<F: Format, K: Numbers>(_: K) {
    let growable = used(KeySlab::<_, K>::with_key());
    let mut shrunk = growable.clone();
    goes_on::<F, _, _>(growable);
    shrunk.retain(|key, _| key.slot() < 2);
    shrunk.shrink_to_fit();
    goes_on::<F, _, _>(shrunk);
    goes_on::<F, _, _>(used::<K, Bounded>(BoundedKeySlab::with_capacity_and_key(
        12,
    )));
    goes_on::<F, _, _>(KeySlab::<_, K>::with_key());
    goes_on::<F, K, Bounded>(BoundedKeySlab::with_capacity_and_key(0));
}

#[test]
#[cfg_attr(
    all(each_run, target_endian = "little", target_pointer_width = "64"),
    ignore = "weekly; in each run on two other targets"
)]
fn a_snapshot_comes_back_from_every_format() {
    in_every_format!(slabs_go_on(Key::NONE));
    in_every_format!(slabs_go_on(GenKey::of(0, 0)));
}

#[test]
fn a_snapshot_of_fixed_widths_is_read_into_a_slab_of_ones_own() {
    let slab = used(KeySlab::<u64, GenKey>::with_key());
    let bytes = Bincode1::write(&slab);
    let mut back = KeySlab::builder_with_key().reserve(100).build();
    let mut input =
        bincode_1::Deserializer::from_slice(&bytes, bincode_1::options().with_fixint_encoding());
    back.restore().deserialize(&mut input).unwrap();
    assert_eq!((back.vacant_key(), &back), (slab.vacant_key(), &slab));
    assert_eq!(Bincode1::write(&back), bytes);
}

key_type! {
    #[derive(Serialize, Deserialize)]
    struct OrderKey;
}
key_type! {
    #[derive(Serialize, Deserialize)]
    struct SessionKey(GenKey);
}

/// What programs write: slabs and keys among other fields, one after another.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Engine {
    orders: KeySlab<Option<String>, OrderKey>,
    newest: OrderKey,
    sessions: BoundedKeySlab<(SessionKey, u8), SessionKey>,
    keys: Vec<(Key, Option<GenKey>)>,
    #[serde(with = "as_map")]
    by_number: KeySlab<i16>,
    after: u32,
}

#[test]
#[cfg_attr(
    all(each_run, target_endian = "little", target_pointer_width = "64"),
    ignore = "weekly; in each run on two other targets"
)]
fn slabs_and_keys_among_other_fields_come_back_from_every_format() {
    let mut orders = KeySlab::with_key();
    let [old, newest] = [None, Some("buy".to_string())].map(|order| orders.insert(order));
    orders.insert(None);
    orders.remove(old);
    let mut sessions: BoundedKeySlab<_, SessionKey> = BoundedKeySlab::with_capacity_and_key(300);
    let first = sessions.vacant_key().unwrap();
    sessions.insert((first, 7)).unwrap();
    let second = sessions.insert((first, 8)).unwrap();
    sessions.remove(first);
    let last = GenKey::of(u32::MAX as usize, (1 << 30) - 2);
    let engine = Engine {
        orders,
        newest,
        sessions,
        keys: vec![
            (Key::NONE, None),
            (Key::from_raw(300), Some(second.into())),
            (Key::from_raw(7), Some(last)),
        ],
        by_number: [(Key::from_raw(400), -1), (Key::from_raw(2), 300)]
            .into_iter()
            .collect(),
        after: u32::MAX,
    };
    in_every_format!(comes_back(&engine));
}

/// The bytes of a format of fixed widths, which every target writes and reads.
#[test]
fn the_widths_of_a_snapshot_are_the_same_on_every_target() {
    fn parts(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }
    let four = |number: u32| number.to_le_bytes();
    let eight = |number: u64| number.to_le_bytes();

    let mut slab = KeySlab::new();
    let keys = [7_u8, 8, 9].map(|value| slab.insert(value));
    slab.remove(keys[0]);
    slab.remove(keys[2]);
    let expected = parts(&[
        &eight(3), // the format's own: so many slots follow
        &four(0),
        &four(1),
        &[8],
        &four(0),
        &eight(2), // so many free ones
        &four(2),
        &four(0),
        &four(0), // the version of the others
    ]);
    assert_eq!(Bincode1::write(&slab), expected);
    assert_eq!(Bincode2Fixed::write(&slab), expected);

    let mut slab: BoundedKeySlab<u8, GenKey> = BoundedKeySlab::with_capacity_and_key(5);
    let keys = [7, 8, 9].map(|value| slab.insert(value).unwrap());
    slab.remove(keys[0]);
    slab.detach(keys[1]);
    let expected = parts(&[
        &eight(5), // the capacity
        &eight(3),
        &four(2),
        &four(1 << 31 | 2),
        &four(1),
        &[9],
        &eight(1),
        &four(0),
        &four(0),
    ]);
    assert_eq!(Bincode1::write(&slab), expected);
    assert_eq!(Bincode2Fixed::write(&slab), expected);

    assert_eq!(Bincode1::write(&keys[2]), parts(&[&four(2), &four(1)]));
    assert_eq!(Bincode1::write(&Key::from_raw(9)), four(9));

    #[derive(Serialize)]
    struct AsMap(#[serde(with = "as_map")] KeySlab<u8>);
    let slab = AsMap([(Key::from_raw(1), 7)].into_iter().collect());
    assert_eq!(Bincode1::write(&slab), parts(&[&eight(1), &eight(1), &[7]]));
}
