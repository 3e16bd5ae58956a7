//! Randomness, split by purpose and entity.
//!
//! Each stream is ChaCha8 keyed by (seed, purpose, entity, entity). A stream belongs to what it is
//! for — "the link from client-2 to the third server", "client-2's workload" — and never to a node's
//! index, so that a draw added in one place shifts no other, and the same plan of faults can be
//! played against every lock.
//!
//! Source of the generator: `rand_chacha`, whose block function is fixed by RFC 8439 (with 8 rounds);
//! all that is derived from its words is our own ([`host::span`]), with golden vectors below.

use host::{Duration, Fold, Span};
use rand_chacha::ChaCha8Core;
use rand_core::SeedableRng;
use rand_core::block::Generator;

/// A stable name for something that has randomness of its own, independent of how the world around
/// it is built: `client/worker-1`, `server/3`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entity(u64);

impl Entity {
    /// Nobody in particular.
    pub const WORLD: Self = Self(0);

    /// The entity of that name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        // Not by the name's digest: on this hangs what every seed means, on that only what a trace's hash is.
        let mut fold = Fold::new(0);
        fold.word(name.len() as u64);
        for chunk in name.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            fold.word(u64::from_le_bytes(word));
        }
        Self(fold.value())
    }
}

/// What a stream is for. The numbers are part of the meaning of every seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamPurpose {
    /// CPU time and latency of what one node sends to another.
    Link = 1,
    /// What a lock recipe draws.
    Recipe = 2,
    /// What the workload around it draws.
    Workload = 3,
    /// What a fault draws: how long it lasts, by how much it delays.
    Fault = 4,
    /// What is drawn of a plan before a run begins: when a fault strikes, whom, and whether at all.
    Plan = 5,
    /// What a service draws.
    Service = 6,
}

/// One stream of random words.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: ChaCha8Core,
    /// What was generated last: four blocks at once.
    block: [u32; BLOCK],
    /// How much of it has been drawn.
    drawn: usize,
}

impl Stream {
    /// The stream of a run's seed for that purpose, between (or of) these entities.
    #[must_use]
    #[cold]
    pub fn new(seed: u64, purpose: StreamPurpose, one: Entity, other: Entity) -> Self {
        let mut key = [0; 32];
        for (bytes, word) in key.chunks_exact_mut(8).zip([seed, purpose as u64, one.0, other.0]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self { generator: ChaCha8Core::from_seed(key), block: [0; BLOCK], drawn: BLOCK }
    }

    /// The next word.
    #[inline]
    pub fn word(&mut self) -> u64 {
        if self.drawn == BLOCK {
            self.refill();
        }
        let [low, high] = [self.block[self.drawn], self.block[self.drawn + 1]];
        self.drawn += 2;
        u64::from(high) << 32 | u64::from(low)
    }

    #[cold]
    fn refill(&mut self) {
        self.generator.generate(&mut self.block);
        self.drawn = 0;
    }

    /// One draw of a span.
    pub fn draw(&mut self, span: &Span) -> Duration {
        span.sample(|| self.word())
    }

    /// The same, in ns.
    pub fn draw_nanos(&mut self, span: &Span) -> u64 {
        span.sample_nanos(|| self.word())
    }
}

/// How many half words the generator makes at once.
const BLOCK: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_written_down() {
        // Golden: a change here changes the meaning of every seed.
        let mut stream = Stream::new(42, StreamPurpose::Link, Entity::named("client/A"), Entity::named("server/1"));
        assert_eq!([stream.word(), stream.word()], [3_266_118_925_860_127_196, 11_580_756_805_652_106_102]);
        let mut stream = Stream::new(0, StreamPurpose::Workload, Entity::WORLD, Entity::WORLD);
        assert_eq!([stream.word(), stream.word()], [937_696_089_655_168_661, 16_793_981_948_690_608_437]);
    }

    #[test]
    fn each_part_of_the_key_makes_another_stream() {
        let (a, b) = (Entity::named("a"), Entity::named("b"));
        let first = |seed, purpose, one, other| Stream::new(seed, purpose, one, other).word();
        let base = first(1, StreamPurpose::Link, a, b);
        assert_ne!(base, first(2, StreamPurpose::Link, a, b));
        assert_ne!(base, first(1, StreamPurpose::Recipe, a, b));
        assert_ne!(base, first(1, StreamPurpose::Link, b, a));
    }
}
