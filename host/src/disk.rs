//! What survives a crash.
//!
//! A disk is a log of records. Written records are in the page cache: they survive the death of the
//! process, not the loss of power. Synced records survive both. A service that wants an image rather
//! than a log writes the image as one record and [truncates](Disk::replace) to it.
//!
//! Not modelled: torn or corrupted records, a disk that lies about a sync, running out of space.

/// A machine's disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disk<R> {
    records: Vec<R>,
    synced: usize,
    syncs: u64,
}

impl<R> Default for Disk<R> {
    fn default() -> Self {
        Self { records: Vec::new(), synced: 0, syncs: 0 }
    }
}

impl<R> Disk<R> {
    /// Appends a record to the log. It is in the page cache until [`sync`](Self::sync).
    pub fn append(&mut self, record: R) {
        self.records.push(record);
    }

    /// Makes all that was written durable.
    pub fn sync(&mut self) {
        self.synced = self.records.len();
        self.syncs += 1;
    }

    /// Replaces the whole log by one durable record, in one atomic step (write aside, sync, rename).
    pub fn replace(&mut self, record: R) {
        self.records.clear();
        self.records.push(record);
        self.synced = 1;
        self.syncs += 1;
    }

    /// What is readable now, oldest first.
    #[must_use]
    pub fn records(&self) -> &[R] {
        &self.records
    }

    /// How many records a loss of power would take.
    #[must_use]
    pub const fn unsynced(&self) -> usize {
        self.records.len() - self.synced
    }

    /// How often the machine was made to wait for its disk: by [`sync`](Self::sync) or [`replace`](Self::replace).
    /// (What is being synced when power fails is kept: either may happen.)
    #[must_use]
    pub const fn syncs(&self) -> u64 {
        self.syncs
    }

    /// The machine loses power: what was not synced is gone. For the kernel.
    pub fn lose_power(&mut self) {
        self.records.truncate(self.synced);
    }
}

#[cfg(test)]
mod tests {
    use super::Disk;

    #[test]
    fn a_loss_of_power_takes_what_was_not_synced() {
        let mut disk = Disk::default();
        disk.append(1);
        disk.sync();
        disk.append(2);
        assert_eq!((disk.records(), disk.unsynced()), (&[1, 2][..], 1));
        disk.lose_power();
        assert_eq!((disk.records(), disk.syncs()), (&[1][..], 1));
    }

    #[test]
    fn a_replaced_log_is_durable_at_once() {
        let mut disk = Disk::default();
        disk.append(1);
        disk.replace(9);
        disk.lose_power();
        assert_eq!((disk.records(), disk.syncs()), (&[9][..], 1));
    }
}
