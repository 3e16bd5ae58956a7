# Daily commands; `just --list` names them all.

# What the gate runs
check:
    .ci/run

# Formatting, clippy, documentation
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo doc --workspace --exclude fencepost-madsim --no-deps --config 'build.rustdocflags=["-D", "warnings"]'

# All tests
test:
    cargo test

# Play a scenario: just scenario gc-pause
scenario *ARGS:
    cargo run -- scenario {{ARGS}}

# Every scenario of the catalogue, or of a folder: just check-scenarios my/folder
check-scenarios *ARGS:
    cargo run -- check {{ARGS}}

# One verdict in two worlds: the catalogue's cells on madsim as well
second-world *ARGS:
    RUSTFLAGS="--cfg madsim" cargo test -p fencepost-madsim -- {{ARGS}}

# A scenario on real servers: just live gc-pause --set ttl=2s --set fault.gc.for=4s
live *ARGS:
    cargo run -p fencepost-live -- {{ARGS}}

# The models held against real servers, and gc-pause on them; the servers are installed if they are missing
conformance:
    .ci/conformance

# Ask real servers the questions of the transcripts, and write their answers down
transcripts:
    UPDATE_GOLDEN=1 cargo test -p fencepost-live --test conformance -- transcript
    UPDATE_GOLDEN=1 cargo test -p fencepost-live --test etcd -- transcript
    UPDATE_GOLDEN=1 cargo test -p fencepost-live --test zookeeper -- transcript
    UPDATE_GOLDEN=1 cargo test -p fencepost-live --test postgres -- transcript

# The replicated log under everything that can go wrong, for so many seeds
soak SEEDS="1000000":
    SOAK_SEEDS={{SEEDS}} cargo test -p fencepost-scenarios --release --test log -- --nocapture storms

# The same bytes on any thread count, build profile and process
determinism:
    .ci/determinism

# Our kernel, madsim and a plain loop on one workload, as ratios; seeds of gc-pause a second
bench:
    RUSTFLAGS="--cfg madsim" cargo bench -p fencepost-madsim
