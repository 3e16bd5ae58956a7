//! The second world: fencepost's recipes and services on [madsim](https://docs.rs/madsim).
//!
//! It exists with `--cfg madsim` only, as the simulator itself does:
//! `RUSTFLAGS="--cfg madsim" cargo test -p fencepost-madsim`.
