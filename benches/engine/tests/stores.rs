//! The tests of every store, of which four are of this package.

engine_trial::store_tests!(engine_record::AllStores);
