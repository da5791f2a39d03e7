//! Orders of 64 bytes, as a matching engine allocates them: a slab in place of
//! the allocator.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::hint::black_box;
    use std::mem::MaybeUninit;
    use std::process::ExitCode;

    use clap::Parser;
    use flatslab_benches::machine::commit;
    use flatslab_benches::malloc::{self, Workload};
    use flatslab_benches::payload::barrier;
    use flatslab_benches::record::{Malloc, MallocRow, Record, median, rounded};
    use flatslab_benches::subject::floors::{Floor, StampedFloor};
    use flatslab_benches::subject::ours::{BoundedByKey, BoundedBySlot, GrowableBySlot};
    use flatslab_benches::subject::peers::{
        BoxOnMalloc, BoxOnMimalloc, NexusBounded, Plurality, RustBox,
    };
    use flatslab_benches::{Payload, Subject, clock, model, pin};
    use indicatif::{ProgressBar, ProgressStyle};
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    /// Orders of 64 bytes on malloc, mimalloc, Box and slabs
    #[derive(Parser)]
    struct Arguments {
        /// Few orders, one round: checks the answers, measures roughly
        #[arg(long)]
        quick: bool,
        /// Rounds of each subject in each workload
        #[arg(long, default_value_t = 9)]
        rounds: usize,
        /// Keeps the result under benches/record/, for the report
        #[arg(long)]
        record: bool,
        /// Only workloads whose name contains this
        filter: Option<String>,
        /// What `cargo bench` passes to every bench
        #[arg(long, hide = true)]
        bench: bool,
    }

    /// All of an order.
    type Written = [u64; 8];

    /// An order of which the number is written, and nothing else.
    #[derive(Clone, Copy)]
    struct Numbered {
        number: u64,
        _rest: MaybeUninit<[u64; 7]>,
    }

    impl Payload for Numbered {
        #[inline(always)]
        fn of(number: u64) -> Self {
            Numbered {
                number,
                _rest: MaybeUninit::uninit(),
            }
        }

        #[inline(always)]
        fn number(&self) -> u64 {
            self.number
        }

        #[inline(always)]
        fn number_mut(&mut self) -> &mut u64 {
            &mut self.number
        }
    }

    /// How much is done.
    #[derive(Clone, Copy)]
    struct Sizes {
        orders: usize,
        bursts: usize,
        burst: usize,
        places: usize,
        toggles: usize,
    }

    const FULL: Sizes = Sizes {
        orders: 1_000_000,
        bursts: 100,
        burst: 10_000,
        places: 16_384,
        toggles: 1_000_000,
    };
    const QUICK: Sizes = Sizes {
        orders: 5_000,
        bursts: 2,
        burst: 1_000,
        places: 1_024,
        toggles: 5_000,
    };

    /// Ticks of each workload, in the order of [`Workload::ALL`].
    type Ticks = [f64; Workload::ALL.len()];

    struct Entry {
        subject: &'static str,
        run: fn(Sizes, u64) -> Ticks,
        check: fn() -> Result<(), String>,
    }

    fn entries<V: Payload>() -> Vec<Entry> {
        macro_rules! all {
            ($($subject:ident)*) => {
                vec![$(Entry {
                    subject: <$subject<V> as Subject<V>>::NAME,
                    run: run::<V, $subject<V>>,
                    check: model::check::<V, $subject<V>>,
                }),*]
            };
        }
        all!(BoxOnMalloc RustBox BoxOnMimalloc Floor StampedFloor BoundedBySlot BoundedByKey GrowableBySlot
            NexusBounded Plurality)
    }

    pub(super) fn main() -> ExitCode {
        match measure(&Arguments::parse()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    fn measure(arguments: &Arguments) -> Result<(), String> {
        let (sizes, rounds) = match arguments.quick {
            true => (QUICK, 1),
            false => (FULL, arguments.rounds.max(1)),
        };
        keep_what_is_freed();
        if !pin::to_physical_core().is_some_and(|pinned| pinned.held) {
            println!("NOT pinned: figures will wander");
        }
        let ticks_per_ns = clock::ticks_per_ns();
        let ticks_per_cycle = clock::ticks_per_cycle()?;
        let mut rows = Vec::new();
        for (written, entries) in [(64, entries::<Written>()), (8, entries::<Numbered>())] {
            for entry in &entries {
                (entry.check)()?;
            }
            let progress = ProgressBar::new((rounds * entries.len()) as u64).with_style(
                ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("a template"),
            );
            let mut results: Vec<Vec<Ticks>> = entries.iter().map(|_| Vec::new()).collect();
            for round in 0..rounds {
                for place in 0..entries.len() {
                    let at = (place + round) % entries.len();
                    progress.set_message(entries[at].subject);
                    results[at].push((entries[at].run)(sizes, round as u64));
                    progress.inc(1);
                }
            }
            progress.finish_and_clear();
            for (number, workload) in Workload::ALL.into_iter().enumerate() {
                for (entry, rounds) in entries.iter().zip(&results) {
                    let ticks = median(rounds.iter().map(|ticks| ticks[number]).collect());
                    rows.push(MallocRow {
                        workload: workload.name().to_owned(),
                        written,
                        subject: entry.subject.to_owned(),
                        ticks: rounded(ticks),
                    });
                }
            }
        }
        let result = Malloc {
            commit: commit(),
            ticks_per_ns,
            ticks_per_cycle,
            rounds,
            rows,
        };
        for workload in Workload::ALL {
            let named = |part: &String| workload.name().contains(part.as_str());
            if arguments.filter.as_ref().is_none_or(named) {
                println!(
                    "\n{}\n{}",
                    workload.name(),
                    malloc::render(&result, workload)
                );
            }
        }
        if arguments.quick {
            println!("\nThese figures are of few orders: they say nothing.");
        }
        if arguments.record {
            let path = Record::extend(|record| record.malloc = Some(result))?;
            println!("\nrecorded in {}", path.display());
        }
        Ok(())
    }

    /// Has malloc give nothing back to the system: what has been touched once is
    /// there for it as it is for a slab.
    fn keep_what_is_freed() {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: two settings of the allocator.
        unsafe {
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
            libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX);
        }
    }

    /// Handles in bare memory, touched.
    struct Handles<H>(Vec<MaybeUninit<H>>);

    impl<H> Handles<H> {
        fn new(count: usize) -> Self {
            let mut memory: Vec<MaybeUninit<H>> = Vec::new();
            memory.resize_with(count, MaybeUninit::uninit);
            for place in &mut memory {
                // SAFETY: a byte of ours, to be overwritten.
                unsafe { place.as_mut_ptr().cast::<u8>().write_volatile(0) };
            }
            Handles(memory)
        }

        #[inline(always)]
        fn put(&mut self, at: usize, handle: H) {
            self.0[at].write(handle);
        }

        #[inline(always)]
        fn take(&mut self, at: usize) -> H {
            // SAFETY: the workloads take what was put, once.
            unsafe { self.0[at].assume_init_read() }
        }
    }

    fn run<V: Payload, S: Subject<V>>(sizes: Sizes, seed: u64) -> Ticks {
        let mut subject = S::with_capacity(sizes.orders);
        let mut handles = Handles::new(sizes.orders);
        // Once over everything, so that no page faults later.
        fill(&mut subject, &mut handles, sizes.orders);
        let all = 0..sizes.orders;
        assert_eq!(
            all.clone()
                .map(|at| subject.remove(handles.take(at)).number())
                .sum::<u64>(),
            all.map(|at| at as u64).sum::<u64>(),
            "{} lost an order",
            S::NAME
        );
        let mut toggles = toggles(sizes, seed);

        let mut ticks = [0.0; Workload::ALL.len()];
        for (place, workload) in ticks.iter_mut().zip(Workload::ALL) {
            *place = match workload {
                Workload::LinearAllocation => {
                    let ticks = fill(&mut subject, &mut handles, sizes.orders);
                    free(&mut subject, &mut handles, sizes.orders, true);
                    ticks
                }
                Workload::LinearFreeLifo | Workload::LinearFreeFifo => {
                    fill(&mut subject, &mut handles, sizes.orders);
                    let newest_first = workload == Workload::LinearFreeLifo;
                    free(&mut subject, &mut handles, sizes.orders, newest_first)
                }
                Workload::HotChurnLifo | Workload::HotChurnFifo => {
                    let newest_first = workload == Workload::HotChurnLifo;
                    let bursts = (0..sizes.bursts).map(|_| {
                        fill(&mut subject, &mut handles, sizes.burst)
                            + free(&mut subject, &mut handles, sizes.burst, newest_first)
                    });
                    bursts.sum::<f64>() / sizes.bursts as f64
                }
                Workload::SwissCheese => swiss_cheese(&mut subject, &mut handles, &mut toggles),
            };
        }
        ticks
    }

    /// Ticks for each allocation.
    #[inline(never)]
    fn fill<V: Payload, S: Subject<V>>(
        subject: &mut S,
        handles: &mut Handles<S::Handle>,
        count: usize,
    ) -> f64 {
        let begun = clock::start();
        for at in 0..count {
            barrier(subject);
            handles.put(at, subject.insert(V::of(at as u64)));
        }
        (clock::stop() - begun) as f64 / count as f64
    }

    /// Ticks for each free.
    #[inline(never)]
    fn free<V: Payload, S: Subject<V>>(
        subject: &mut S,
        handles: &mut Handles<S::Handle>,
        count: usize,
        newest_first: bool,
    ) -> f64 {
        let begun = clock::start();
        if newest_first {
            for at in (0..count).rev() {
                barrier(subject);
                subject.free(handles.take(at));
            }
        } else {
            for at in 0..count {
                barrier(subject);
                subject.free(handles.take(at));
            }
        }
        (clock::stop() - begun) as f64 / count as f64
    }

    /// Places to be toggled, and which of them are taken.
    struct Toggles {
        order: Vec<u32>,
        taken: Vec<bool>,
    }

    fn toggles(sizes: Sizes, seed: u64) -> Toggles {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let places = sizes.places as u32;
        Toggles {
            order: (0..sizes.toggles)
                .map(|_| random.random_range(0..places))
                .collect(),
            taken: vec![false; sizes.places],
        }
    }

    /// Ticks for each toggle: an order where there was none, or none where there
    /// was one.
    #[inline(never)]
    fn swiss_cheese<V: Payload, S: Subject<V>>(
        subject: &mut S,
        handles: &mut Handles<S::Handle>,
        toggles: &mut Toggles,
    ) -> f64 {
        let begun = clock::start();
        for &place in &toggles.order {
            let place = place as usize;
            let taken = &mut toggles.taken[place];
            barrier(subject);
            if *taken {
                subject.free(handles.take(place));
            } else {
                handles.put(place, subject.insert(V::of(place as u64)));
            }
            *taken = !*taken;
        }
        let ticks = (clock::stop() - begun) as f64 / toggles.order.len() as f64;
        for (place, taken) in toggles.taken.iter_mut().enumerate() {
            if core::mem::take(taken) {
                let found = subject.remove(handles.take(place)).number();
                assert_eq!(found, place as u64, "{} lost an order", S::NAME);
            }
        }
        black_box(ticks)
    }
}

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    x86_64::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("this bench reads the x86_64 time-stamp counter; nothing to do here");
}
