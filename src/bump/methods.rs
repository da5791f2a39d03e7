//! The allocations of every arena and scope, written once.

/// Writes them for a type that has `chunks()`: `methods!(self: &'a Self => 'a, 'a)` for an
/// arena, whose references live as long as it is borrowed, and
/// `methods!(self: &Self => 's)` for a scope, whose references live as long as it does.
macro_rules! methods {
    ($self:ident: $receiver:ty => $a:lifetime $(, $own:lifetime)?) => {
        /// Moves a value into the arena; O(1). It is never dropped:
        /// [`boxed`](Self::boxed) does that.
        ///
        /// # Panics
        ///
        /// If a bounded arena is full, or a limit is reached. Where the allocator refuses
        /// the program ends, as with `Box`. So it is with every method that has a `try_`
        /// form.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let value: &mut u64 = arena.alloc(42);
        /// *value += 1;
        /// assert_eq!(*value, 43);
        /// ```
        #[inline]
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn alloc<$($own,)? T>($self: $receiver, value: T) -> &$a mut T {
            match place::put::<T, Fails>($self.chunks(), value) {
                // SAFETY: a value in memory just taken.
                Ok(mut value) => unsafe { value.as_mut() },
                Err(never) => match never {},
            }
        }

        /// As [`alloc`](Self::alloc); never panics or aborts.
        ///
        /// # Errors
        ///
        /// Gives the value back where there is no room.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert_eq!(arena.try_alloc(42).unwrap_err().into_inner(), 42);
        /// ```
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn try_alloc<$($own,)? T>($self: $receiver, value: T) -> Result<&$a mut T, Full<T>> {
            match place::put::<T, Refuses>($self.chunks(), value) {
                // SAFETY: a value in memory just taken.
                Ok(mut value) => Ok(unsafe { value.as_mut() }),
                Err(value) => Err(Full(value)),
            }
        }

        /// Builds a value in the arena: a large one in its place, as far as the compiler
        /// sees through `f`. O(1) besides `f`, which may use the arena, and may
        /// [rewind](Arena::rewind) it no further than to a checkpoint of its own. The value is
        /// never dropped.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let frame = arena.alloc_with(|| [0_u8; 1500]);
        /// assert_eq!(frame.len(), 1500);
        /// ```
        #[inline]
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn alloc_with<$($own,)? T>($self: $receiver, f: impl FnOnce() -> T) -> &$a mut T {
            // SAFETY: a value in memory just taken.
            unsafe { done(place::with::<T, Fails>($self.chunks(), f)).as_mut() }
        }

        /// As [`alloc_with`](Self::alloc_with); never panics or aborts of itself.
        ///
        /// # Errors
        ///
        /// When there is no room; `f` was called then if its value is of 16 bytes or
        /// less.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(8);
        /// assert!(arena.try_alloc_with(|| 42_u64).is_ok());
        /// assert!(arena.try_alloc_with(|| 42_u64).is_err());
        /// ```
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn try_alloc_with<$($own,)? T>(
            $self: $receiver,
            f: impl FnOnce() -> T,
        ) -> Result<&$a mut T, AllocError> {
            // SAFETY: a value in memory just taken.
            place::with::<T, Explains>($self.chunks(), f).map(|mut value| unsafe { value.as_mut() })
        }

        /// Builds a value in the arena, if `f` does: else its memory is given back, unless
        /// more was allocated since. It is never dropped.
        ///
        /// # Errors
        ///
        /// That of `f`.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let number = arena.alloc_try_with(|| "42".parse::<u64>())?;
        /// assert_eq!(*number, 42);
        /// assert!(arena.alloc_try_with(|| "x".parse::<u64>()).is_err());
        /// # Ok::<(), std::num::ParseIntError>(())
        /// ```
        #[inline]
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn alloc_try_with<$($own,)? T, E>(
            $self: $receiver,
            f: impl FnOnce() -> Result<T, E>,
        ) -> Result<&$a mut T, E> {
            let built = done(place::try_with::<T, E, Fails>($self.chunks(), f));
            // SAFETY: a value in memory just taken.
            built.map(|mut value| unsafe { value.as_mut() })
        }

        /// As [`alloc_try_with`](Self::alloc_try_with); never panics or aborts of itself.
        ///
        /// # Errors
        ///
        /// When there is no room; inside, the error of `f`.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert!(arena.try_alloc_try_with(|| "x".parse::<u64>()).unwrap().is_err());
        /// ```
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn try_alloc_try_with<$($own,)? T, E>(
            $self: $receiver,
            f: impl FnOnce() -> Result<T, E>,
        ) -> Result<Result<&$a mut T, E>, AllocError> {
            let built = place::try_with::<T, E, Explains>($self.chunks(), f)?;
            // SAFETY: a value in memory just taken.
            Ok(built.map(|mut value| unsafe { value.as_mut() }))
        }

        /// Memory of that layout, uninitialised; dangling if it has no size.
        ///
        /// It is valid for reads and writes as long as a reference that
        /// [`alloc`](Self::alloc) would return.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// use std::alloc::Layout;
        ///
        /// let arena = flatslab::bump::Arena::new();
        /// let memory = arena.alloc_layout(Layout::new::<[u64; 4]>());
        /// assert!(memory.cast::<u64>().is_aligned());
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_layout($self: &Self, layout: Layout) -> NonNull<u8> {
            done(place::room_for::<Fails>($self.chunks(), layout))
        }

        /// As [`alloc_layout`](Self::alloc_layout); never panics or aborts.
        ///
        /// # Errors
        ///
        /// When there is no room.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::alloc::Layout;
        ///
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert!(arena.try_alloc_layout(Layout::new::<u64>()).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_layout($self: &Self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            place::room_for::<Explains>($self.chunks(), layout)
        }

        /// Copies a text.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_str("flat"), "flat");
        /// ```
        #[inline]
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn alloc_str<$($own)?>($self: $receiver, text: &str) -> &$a mut str {
            let bytes = $self.alloc_slice_copy(text.as_bytes());
            // SAFETY: the bytes of a text.
            unsafe { core::str::from_utf8_unchecked_mut(bytes) }
        }

        /// As [`alloc_str`](Self::alloc_str); never panics or aborts.
        ///
        /// # Errors
        ///
        /// When there is no room.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert!(arena.try_alloc_str("flat").is_err());
        /// ```
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn try_alloc_str<$($own)?>(
            $self: $receiver,
            text: &str,
        ) -> Result<&$a mut str, AllocError> {
            let bytes = $self.try_alloc_slice_copy(text.as_bytes())?;
            // SAFETY: the bytes of a text.
            Ok(unsafe { core::str::from_utf8_unchecked_mut(bytes) })
        }

        /// Formats into the arena. If that fails, the memory of the text is given back,
        /// unless more was allocated since.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc); if a formatter returns an error.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_fmt(format_args!("{}-{}", "flat", 7)), "flat-7");
        /// ```
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn alloc_fmt<$($own)?>($self: $receiver, text: fmt::Arguments<'_>) -> &$a mut str {
            let mut vec = ArenaVec::in_chunks($self.chunks());
            match place::format(&mut vec, text) {
                Ok(Ok(())) => {}
                Ok(Err(fmt::Error)) => panic!("a formatter returned an error"),
                Err(error) => memory::fail(error),
            }
            // SAFETY: the vector has texts alone; it ends here, and its memory was taken
            // from the arena.
            unsafe { core::str::from_utf8_unchecked_mut(vec.into_row().as_mut()) }
        }

        /// As [`alloc_fmt`](Self::alloc_fmt); never panics or aborts of itself.
        ///
        /// # Errors
        ///
        /// When there is no room, or a formatter returns an error.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(8);
        /// assert!(arena.try_alloc_fmt(format_args!("{}", 1_000_000_000)).is_err());
        /// ```
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn try_alloc_fmt<$($own)?>(
            $self: $receiver,
            text: fmt::Arguments<'_>,
        ) -> Result<&$a mut str, fmt::Error> {
            let mut vec = ArenaVec::in_chunks($self.chunks());
            place::format(&mut vec, text).map_err(|_| fmt::Error)??;
            // SAFETY: as in `alloc_fmt`.
            Ok(unsafe { core::str::from_utf8_unchecked_mut(vec.into_row().as_mut()) })
        }

        /// Moves a value into the arena, into a box that drops it;
        /// [`arena_box_as!`](crate::arena_box_as) makes it one of a trait object.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let mut boxed = arena.boxed(vec![1]);
        /// boxed.push(2);
        /// assert_eq!(*boxed, [1, 2]);
        /// ```
        #[inline]
        #[track_caller]
        pub fn boxed<$($own,)? T>($self: $receiver, value: T) -> ArenaBox<$a, T> {
            match place::put::<T, Fails>($self.chunks(), value) {
                // SAFETY: a value in memory just taken.
                Ok(value) => unsafe { ArenaBox::new(value) },
                Err(never) => match never {},
            }
        }

        /// As [`boxed`](Self::boxed); never panics or aborts.
        ///
        /// # Errors
        ///
        /// Gives the value back where there is no room.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert_eq!(arena.try_boxed("kept".to_string()).unwrap_err().into_inner(), "kept");
        /// ```
        #[inline]
        pub fn try_boxed<$($own,)? T>(
            $self: $receiver,
            value: T,
        ) -> Result<ArenaBox<$a, T>, Full<T>> {
            match place::put::<T, Refuses>($self.chunks(), value) {
                // SAFETY: a value in memory just taken.
                Ok(value) => Ok(unsafe { ArenaBox::new(value) }),
                Err(value) => Err(Full(value)),
            }
        }

        /// So many values, which `f` builds of their indices, in a box that drops them.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let boxed = arena.alloc_boxed_slice(3, |index| vec![index]);
        /// assert_eq!(boxed.concat(), [0, 1, 2]);
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_boxed_slice<$($own,)? T>(
            $self: $receiver,
            len: usize,
            f: impl FnMut(usize) -> T,
        ) -> ArenaBox<$a, [T]> {
            // SAFETY: values in memory just taken.
            unsafe { ArenaBox::new(done(place::fill::<T, Fails>($self.chunks(), len, f))) }
        }

        /// As [`alloc_boxed_slice`](Self::alloc_boxed_slice); never panics or aborts of
        /// itself.
        ///
        /// # Errors
        ///
        /// When there is no room; `f` is not called then.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert!(arena.try_alloc_boxed_slice(3, |index| index).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_boxed_slice<$($own,)? T>(
            $self: $receiver,
            len: usize,
            f: impl FnMut(usize) -> T,
        ) -> Result<ArenaBox<$a, [T]>, AllocError> {
            // SAFETY: values in memory just taken.
            place::fill::<T, Explains>($self.chunks(), len, f).map(|values| unsafe { ArenaBox::new(values) })
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// Copies a slice.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// assert_eq!(arena.alloc_slice_copy(&[1, 2]), [1, 2]);
            /// ```
            alloc_slice_copy
            /// As [`alloc_slice_copy`](Self::alloc_slice_copy); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_slice_copy(&[1, 2]).is_err());
            /// ```
            try_alloc_slice_copy [T: Copy] (values: &[T]) -> [T] = copy(values)
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// Clones the values of a slice. If a `clone` panics, those made before are dropped.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// assert_eq!(arena.alloc_slice_clone(&["flat".to_string()]), ["flat"]);
            /// ```
            alloc_slice_clone
            /// As [`alloc_slice_clone`](Self::alloc_slice_clone); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_slice_clone(&["flat"]).is_err());
            /// ```
            try_alloc_slice_clone [T: Clone] (values: &[T]) -> [T] = fill(values.len(), |index| values[index].clone())
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// So many clones of a value.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// assert_eq!(arena.alloc_slice_fill(2, 7), [7, 7]);
            /// ```
            alloc_slice_fill
            /// As [`alloc_slice_fill`](Self::alloc_slice_fill); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_slice_fill(2, 7).is_err());
            /// ```
            try_alloc_slice_fill [T: Clone] (len: usize, value: T) -> [T] = fill(len, |_| value.clone())
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// So many default values.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// let zeroes: &mut [u64] = arena.alloc_slice_fill_default(2);
            /// assert_eq!(zeroes, [0, 0]);
            /// ```
            alloc_slice_fill_default
            /// As [`alloc_slice_fill_default`](Self::alloc_slice_fill_default); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_slice_fill_default::<u64>(2).is_err());
            /// ```
            try_alloc_slice_fill_default [T: Default] (len: usize) -> [T] = fill(len, |_| T::default())
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// So many values, which `f` builds of their indices. If it panics, those made before
            /// are dropped.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// let squares = arena.alloc_slice_fill_with(3, |index| index * index);
            /// assert_eq!(squares, [0, 1, 4]);
            /// ```
            alloc_slice_fill_with
            /// As [`alloc_slice_fill_with`](Self::alloc_slice_fill_with); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_slice_fill_with(2, |index| index).is_err());
            /// ```
            try_alloc_slice_fill_with [T] (len: usize, f: impl FnMut(usize) -> T) -> [T] = fill(len, f)
        }

        /// So many values, which `f` builds of their indices, if it builds all of them: else,
        /// or if it panics, those made before are dropped, and their memory is given back,
        /// unless more was allocated since. O(values); they are never dropped later.
        ///
        /// # Errors
        ///
        /// The first of `f`, which is not called again then.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let texts = ["4", "2"];
        /// let numbers = arena.alloc_slice_try_fill_with(2, |index| texts[index].parse::<u64>())?;
        /// assert_eq!(numbers, [4, 2]);
        /// assert!(arena.alloc_slice_try_fill_with(2, |_| "x".parse::<u64>()).is_err());
        /// # Ok::<(), std::num::ParseIntError>(())
        /// ```
        #[inline]
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn alloc_slice_try_fill_with<$($own,)? T, E>(
            $self: $receiver,
            len: usize,
            f: impl FnMut(usize) -> Result<T, E>,
        ) -> Result<&$a mut [T], E> {
            let built = done(place::try_fill::<T, E, Fails>($self.chunks(), len, f));
            // SAFETY: values in memory just taken.
            built.map(|mut values| unsafe { values.as_mut() })
        }

        /// As [`alloc_slice_try_fill_with`](Self::alloc_slice_try_fill_with); never panics or
        /// aborts of itself.
        ///
        /// # Errors
        ///
        /// When there is no room; `f` is not called then. Inside, the error of `f`.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(16);
        /// let parse = |_| "x".parse::<u64>();
        /// assert!(arena.try_alloc_slice_try_fill_with(2, parse).unwrap().is_err());
        /// assert!(arena.try_alloc_slice_try_fill_with(3, parse).is_err());
        /// ```
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn try_alloc_slice_try_fill_with<$($own,)? T, E>(
            $self: $receiver,
            len: usize,
            f: impl FnMut(usize) -> Result<T, E>,
        ) -> Result<Result<&$a mut [T], E>, AllocError> {
            let built = place::try_fill::<T, E, Explains>($self.chunks(), len, f)?;
            // SAFETY: values in memory just taken.
            Ok(built.map(|mut values| unsafe { values.as_mut() }))
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// The values of an iterator, however many there are: what it says of their number is a
            /// hint.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// assert_eq!(arena.alloc_slice_iter("flat".chars()), ['f', 'l', 'a', 't']);
            /// ```
            alloc_slice_iter
            /// As [`alloc_slice_iter`](Self::alloc_slice_iter); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_slice_iter(0..3).is_err());
            /// ```
            try_alloc_slice_iter [T] (values: impl IntoIterator<Item = T>) -> [T] = collect(values)
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// Copies an array.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// assert_eq!(arena.alloc_array_copy(&[1, 2]), &[1, 2]);
            /// ```
            alloc_array_copy
            /// As [`alloc_array_copy`](Self::alloc_array_copy); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_array_copy(&[1, 2]).is_err());
            /// ```
            try_alloc_array_copy [T: Copy, const N: usize] (values: &[T; N]) -> [T; N] = copy_array[, N](values)
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// Clones the values of an array. If a `clone` panics, those made before are dropped.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// assert_eq!(arena.alloc_array_clone(&["flat".to_string()]), &["flat"]);
            /// ```
            alloc_array_clone
            /// As [`alloc_array_clone`](Self::alloc_array_clone); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_array_clone(&["flat"]).is_err());
            /// ```
            try_alloc_array_clone [T: Clone, const N: usize] (values: &[T; N]) -> [T; N] = fill(N, |index| values[index].clone()).map(NonNull::cast)
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// `N` default values, each built in its place: the array never lies on the stack.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// let zeroes: &mut [u64; 2] = arena.alloc_array_fill_default();
            /// assert_eq!(zeroes, &[0, 0]);
            /// ```
            alloc_array_fill_default
            /// As [`alloc_array_fill_default`](Self::alloc_array_fill_default); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_array_fill_default::<u64, 2>().is_err());
            /// ```
            try_alloc_array_fill_default [T: Default, const N: usize] () -> [T; N] = fill(N, |_| T::default()).map(NonNull::cast)
        }

        methods! { @row $self: $receiver => $a $(, $own)?;
            /// `N` values, which `f` builds of their indices, each in its place: the array never lies
            /// on the stack. If `f` panics, those made before are dropped.
            ///
            /// # Panics
            ///
            /// As [`alloc`](Self::alloc).
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::new();
            /// let squares: &mut [usize; 3] = arena.alloc_array_fill_with(|index| index * index);
            /// assert_eq!(squares, &[0, 1, 4]);
            /// ```
            alloc_array_fill_with
            /// As [`alloc_array_fill_with`](Self::alloc_array_fill_with); never panics or aborts of itself.
            ///
            /// # Errors
            ///
            /// When there is no room.
            ///
            /// # Examples
            ///
            /// ```
            /// let arena = flatslab::bump::Arena::bounded(0);
            /// assert!(arena.try_alloc_array_fill_with::<usize, 3>(|index| index).is_err());
            /// ```
            try_alloc_array_fill_with [T, const N: usize] (f: impl FnMut(usize) -> T) -> [T; N] = fill(N, f).map(NonNull::cast)
        }

        /// Moves the values of a vector into the arena; they are never dropped.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_slice_from_vec(vec![1, 2]), [1, 2]);
        /// ```
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        #[allow(clippy::disallowed_types, reason = "the vector is the user's")]
        pub fn alloc_slice_from_vec<$($own,)? T>($self: $receiver, mut values: Vec<T>) -> &$a mut [T] {
            // SAFETY: the vector's values, which it forgets.
            unsafe {
                let mut taken = done(place::take::<T, Fails>($self.chunks(), &values));
                values.set_len(0);
                taken.as_mut()
            }
        }

        /// As [`alloc_slice_from_vec`](Self::alloc_slice_from_vec); never panics or aborts.
        ///
        /// # Errors
        ///
        /// Gives the vector back where there is no room.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// let full = arena.try_alloc_slice_from_vec(vec![1, 2]).unwrap_err();
        /// assert_eq!(full.into_inner(), [1, 2]);
        /// ```
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        #[allow(clippy::disallowed_types, reason = "the vector is the user's")]
        pub fn try_alloc_slice_from_vec<$($own,)? T>(
            $self: $receiver,
            mut values: Vec<T>,
        ) -> Result<&$a mut [T], Full<Vec<T>>> {
            // SAFETY: the vector's values, which it forgets.
            unsafe {
                let Ok(mut taken) = place::take::<T, Refuses>($self.chunks(), &values) else {
                    return Err(Full(values));
                };
                values.set_len(0);
                Ok(taken.as_mut())
            }
        }
    };
    (@row $self:ident: $receiver:ty => $a:lifetime $(, $own:lifetime)?;
        $(#[doc = $doc:literal])* $name:ident
        $(#[doc = $try_doc:literal])* $try_name:ident
        [$($generics:tt)*] ($($argument:ident: $type:ty),*) -> $row:ty = $build:ident$([, $size:ident])?($($built:expr),*) $(.map($cast:expr))?
    ) => {
        $(#[doc = $doc])*
        #[inline]
        #[track_caller]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn $name<$($own,)? $($generics)*>($self: $receiver $(, $argument: $type)*) -> &$a mut $row {
            let built = place::$build::<T, Fails$(, $size)?>($self.chunks(), $($built),*)$(.map($cast))?;
            // SAFETY: values in memory just taken.
            unsafe { done(built).as_mut() }
        }

        $(#[doc = $try_doc])*
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "memory that is handed out once")]
        pub fn $try_name<$($own,)? $($generics)*>(
            $self: $receiver $(, $argument: $type)*
        ) -> Result<&$a mut $row, AllocError> {
            let built = place::$build::<T, Explains$(, $size)?>($self.chunks(), $($built),*)$(.map($cast))?;
            // SAFETY: values in memory just taken.
            built.map(|mut values| unsafe { values.as_mut() })
        }
    };
}

pub(super) use methods;
