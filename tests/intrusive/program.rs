//! Random programs on lists, beside a model of `std`'s collections. Those on trees are in
//! `integers.rs`.

use std::collections::VecDeque;

use crate::common::random::{one_in, random, seed};
use crate::common::{Drops, amount};
use crate::homes::{ROOM, in_each_home, item};

/// Lists of one program.
const LISTS: usize = 3;

in_each_home! {
    fn lists_agree_with_a_model() {
        for program in 0..amount(200, 2) {
            seed(program);
            let (home, drops) = (home(), Drops::new());
            let mut lists: Vec<_> = (0..LISTS).map(|_| list(&home)).collect();
            let mut models = vec![VecDeque::new(); LISTS];
            let mut boxes = Vec::new();
            let mut inserted = 0;
            for _ in 0..amount(200, 40) {
                let at = random(LISTS as u64) as usize;
                let (list, model) = (&mut lists[at], &mut models[at]);
                match random(10) {
                    0..3 if home.len() < ROOM => {
                        inserted += 1;
                        boxes.push(insert(&home, item(inserted, &drops)));
                    }
                    0..4 => if let Some(boxed) = boxes.pop() {
                        if one_in(2) {
                            model.push_back(boxed.number);
                            list.push_back(boxed);
                        } else {
                            model.push_front(boxed.number);
                            list.push_front(boxed);
                        }
                    },
                    4..6 => {
                        let place = random(model.len() as u64 + 1) as usize;
                        let mut cursor = list.front_mut();
                        for _ in 0..place {
                            cursor.move_next();
                        }
                        match (boxes.pop(), one_in(2)) {
                            (Some(boxed), true) => {
                                model.insert(place, boxed.number);
                                cursor.insert_before(boxed);
                            }
                            (popped, _) => {
                                boxes.extend(popped);
                                let removed = cursor.remove();
                                let number = removed.as_ref().map(|boxed| boxed.number);
                                assert_eq!(number, model.remove(place));
                                boxes.extend(removed);
                            }
                        }
                    }
                    6 => {
                        let taken = list.take();
                        let mut moved = std::mem::take(model);
                        let other = random(LISTS as u64) as usize;
                        lists[other].back_mut().splice_after(taken);
                        models[other].append(&mut moved);
                    }
                    7 if !model.is_empty() => {
                        let place = random(model.len() as u64) as usize;
                        let mut cursor = list.front_mut();
                        for _ in 0..place {
                            cursor.move_next();
                        }
                        let cut = cursor.split_after();
                        let moved = model.split_off(place + 1);
                        if one_in(2) {
                            let mut left = cut.into_iter();
                            let first = left.next().map(|boxed| boxed.number);
                            assert_eq!(first, moved.front().copied());
                        } else {
                            list.back_mut().splice_after(cut);
                            model.extend(moved);
                        }
                    }
                    8 => boxes.extend(list.pop_front().inspect(|boxed| {
                        assert_eq!(Some(boxed.number), model.pop_front());
                    })),
                    _ => if one_in(4) {
                        list.clear();
                        model.clear();
                    } else {
                        boxes.truncate(2);
                    },
                }
                let live = boxes.len() + models.iter().map(VecDeque::len).sum::<usize>();
                assert_eq!(home.len(), live);
                assert_eq!(drops.count() + live, inserted as usize);
                for (list, model) in lists.iter().zip(&models) {
                    assert!(list.iter().map(|item| item.number).eq(model.iter().copied()));
                }
            }
            drop((lists, boxes));
            assert_eq!((home.len(), drops.count()), (0, inserted as usize));
        }
    }
}
