//! A game's world in the `slotmap` crate: entities, the speeds of those that move, and the names of
//! a few. An entity aims at another one, which may be gone when it fires.

use slotmap::{Key, SecondaryMap, SlotMap, SparseSecondaryMap, new_key_type};

use crate::random::{one_in, random, seed};

new_key_type! {
    struct EntityKey;
}

struct Entity {
    me: EntityKey,
    place: i64,
    health: u64,
    /// The null key: at none.
    target: EntityKey,
    /// A number that the log names it by.
    number: u64,
}

struct World {
    entities: SlotMap<EntityKey, Entity>,
    speeds: SecondaryMap<EntityKey, i64>,
    names: SparseSecondaryMap<EntityKey, String>,
    spawned: u64,
    log: Vec<String>,
}

impl World {
    fn new() -> Self {
        World {
            entities: SlotMap::with_key(),
            speeds: SecondaryMap::new(),
            names: SparseSecondaryMap::new(),
            spawned: 0,
            log: Vec::new(),
        }
    }

    fn spawn(&mut self, place: i64) -> EntityKey {
        self.spawned += 1;
        let number = self.spawned;
        let key = self.entities.insert_with_key(|me| Entity {
            me,
            place,
            health: 30,
            target: EntityKey::null(),
            number,
        });
        if one_in(2) {
            self.speeds.insert(key, random(7) as i64 - 3);
        }
        if one_in(8) {
            self.names.insert(key, format!("hero {number}"));
        }
        self.log.push(format!("spawned {number}"));
        key
    }

    /// Moves what has a speed.
    fn walk(&mut self) {
        for (key, entity) in &mut self.entities {
            if let Some(speed) = self.speeds.get(key) {
                entity.place += speed;
            }
        }
    }

    fn aim(&mut self, who: EntityKey, target: EntityKey) {
        if let Some(entity) = self.entities.get_mut(who) {
            assert!(entity.me == who);
            entity.target = target;
        }
    }

    fn fire(&mut self, who: EntityKey) {
        let Some(entity) = self.entities.get(who) else {
            return;
        };
        let (number, target) = (entity.number, entity.target);
        if target.is_null() || target == who {
            return;
        }
        let Some([shooter, aim]) = self.entities.get_disjoint_mut([who, target]) else {
            self.entities[who].target = EntityKey::null();
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
                let name = names.get(key).map_or("it", |name| name);
                log.push(format!("{name} died: {}", entity.number));
            }
            entity.health > 0
        });
        self.speeds.retain(|key, _| self.entities.contains_key(key));
        self.names.retain(|key, _| self.entities.contains_key(key));
    }

    fn leave(&mut self, who: EntityKey) {
        match self.entities.remove(who) {
            Some(entity) => {
                self.speeds.remove(who);
                self.names.remove(who);
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
            0 => EntityKey::null(),
            len => keys[(len - 1 - random(len.min(12))) as usize],
        };
        match random(10) {
            0 | 1 => {
                let key = world.spawn(step);
                keys.push(key);
            }
            2 | 3 => world.aim(any(), any()),
            4..=6 => world.fire(any()),
            7 => world.leave(any()),
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
