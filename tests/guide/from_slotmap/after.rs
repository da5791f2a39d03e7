//! A game's world in a `KeySlab`, a `SecondarySlab` and a `HashMap`: entities, the speeds of
//! those that move, and the names of a few. An entity aims at another one, which may be gone when it
//! fires.

use std::collections::HashMap;

use flatslab::key_slab::SecondarySlab;
use flatslab::{KeySlab, key_type};

use crate::random::{one_in, random, seed};

key_type! {
    struct EntityKey(GenKey);
}

struct Entity {
    me: EntityKey,
    place: i64,
    health: u64,
    target: Option<EntityKey>,
    /// A number that the log names it by.
    number: u64,
}

struct World {
    entities: KeySlab<Entity, EntityKey>,
    speeds: SecondarySlab<i64, EntityKey>,
    names: HashMap<EntityKey, String>,
    spawned: u64,
    log: Vec<String>,
}

impl World {
    fn new() -> Self {
        World {
            entities: KeySlab::with_key(),
            speeds: SecondarySlab::new(),
            names: HashMap::new(),
            spawned: 0,
            log: Vec::new(),
        }
    }

    fn spawn(&mut self, place: i64) -> EntityKey {
        self.spawned += 1;
        let number = self.spawned;
        let entry = self.entities.vacant_entry();
        let key = entry.key();
        entry.insert(Entity {
            me: key,
            place,
            health: 30,
            target: None,
            number,
        });
        if one_in(2) {
            let speed = random(7) as i64 - 3;
            self.speeds.insert(&self.entities, key, speed);
        }
        if one_in(8) {
            self.names.insert(key, format!("hero {number}"));
        }
        self.log.push(format!("spawned {number}"));
        key
    }

    /// Moves what has a speed.
    fn walk(&mut self) {
        for (_, entity, speed) in self.speeds.join_mut(&mut self.entities) {
            entity.place += *speed;
        }
    }

    fn aim(&mut self, who: EntityKey, target: EntityKey) {
        if let Some(entity) = self.entities.get_mut(who) {
            assert!(entity.me == who);
            entity.target = Some(target);
        }
    }

    fn fire(&mut self, who: EntityKey) {
        let Some(entity) = self.entities.get(who) else {
            return;
        };
        let number = entity.number;
        let Some(target) = entity.target.filter(|target| *target != who) else {
            return;
        };
        let Ok([shooter, aim]) = self.entities.get_disjoint_mut([who, target]) else {
            self.entities[who].target = None;
            self.log.push(format!("{number}: its target is gone"));
            return;
        };
        let distance = shooter.place.abs_diff(aim.place);
        aim.health = aim.health.saturating_sub(20 - distance.min(20));
        let hit = aim.number;
        self.log.push(format!("{number} hit {hit} at {distance}"));
    }

    /// Removes the dead, with what the other tables have of them.
    fn bury(&mut self) {
        let (log, names) = (&mut self.log, &self.names);
        self.entities.retain(|key, entity| {
            if entity.health == 0 {
                let name = names.get(&key).map_or("it", |name| name);
                log.push(format!("{name} died: {}", entity.number));
            }
            entity.health > 0
        });
        self.speeds.prune(&self.entities);
        self.names.retain(|key, _| self.entities.contains(*key));
    }

    fn leave(&mut self, who: EntityKey) {
        match self.entities.try_remove(who) {
            Some(entity) => {
                self.speeds.try_remove(who);
                self.names.remove(&who);
                self.log.push(format!("{} left", entity.number));
            }
            None => self.log.push("left before".to_string()),
        }
    }

    fn report(&mut self) {
        let places: i64 = self.entities.values().map(|entity| entity.place).sum();
        let numbers: Vec<u64> = self.entities.values().map(|entity| entity.number).collect();
        let (moving, named) = (self.speeds.len(), self.names.len());
        let line = format!("{numbers:?} at {places}, {moving} move, {named} have names");
        self.log.push(line);
    }
}

pub(super) fn run(number: u64) -> Vec<String> {
    seed(number);
    let mut world = World::new();
    let mut keys: Vec<EntityKey> = Vec::new();
    for step in 0..300 {
        let any = || match keys.len() as u64 {
            0 => None,
            len => Some(keys[(len - 1 - random(len.min(12))) as usize]),
        };
        match random(10) {
            0 | 1 => {
                let key = world.spawn(step);
                keys.push(key);
            }
            2 | 3 => _ = any().zip(any()).map(|(who, target)| world.aim(who, target)),
            4..=6 => _ = any().map(|who| world.fire(who)),
            7 => match any() {
                Some(who) => world.leave(who),
                None => world.log.push("left before".to_string()),
            },
            8 => world.walk(),
            _ => world.bury(),
        }
        if step % 50 == 0 {
            world.report();
        }
    }
    for (_, entity) in world.entities.drain() {
        world.log.push(format!("{} is left", entity.number));
    }
    world.log
}
