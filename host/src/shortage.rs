//! What a machine may run out of, while its processes live on.
//!
//! A shortage is a condition that a service looks at in each step, in its [`Context`](crate::Context); what
//! follows from it, the service's model says: which requests it refuses, and with what words.

/// Something that a machine may run out of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shortage {
    /// The disk cannot be written: it is full, or read-only, or broken.
    Disk,
    /// The memory that the service may use is used up.
    Memory,
}

crate::digest_enum!(Shortage { 1 => Disk, 2 => Memory });

/// What a machine is short of right now, and how many reasons there are for it: two faults at once need two
/// ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shortages {
    disk: u32,
    memory: u32,
}

impl Shortages {
    /// Whether it is short of that.
    #[must_use]
    pub const fn of(self, what: Shortage) -> bool {
        let reasons = match what {
            Shortage::Disk => self.disk,
            Shortage::Memory => self.memory,
        };
        reasons > 0
    }

    /// One more reason to be short of that.
    pub const fn begin(&mut self, what: Shortage) {
        *self.reasons(what) += 1;
    }

    /// One reason less.
    ///
    /// # Panics
    /// If there was none.
    pub const fn end(&mut self, what: Shortage) {
        *self.reasons(what) -= 1;
    }

    const fn reasons(&mut self, what: Shortage) -> &mut u32 {
        match what {
            Shortage::Disk => &mut self.disk,
            Shortage::Memory => &mut self.memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shortage, Shortages};

    #[test]
    fn a_shortage_lasts_as_long_as_one_reason_does() {
        let mut short = Shortages::default();
        short.begin(Shortage::Disk);
        short.begin(Shortage::Disk);
        short.end(Shortage::Disk);
        assert!(short.of(Shortage::Disk) && !short.of(Shortage::Memory));
        short.end(Shortage::Disk);
        short.begin(Shortage::Memory);
        assert!(!short.of(Shortage::Disk) && short.of(Shortage::Memory));
    }
}
