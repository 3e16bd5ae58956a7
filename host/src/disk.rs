//! What survives a crash.
//!
//! A disk is a log of records. Written records are in the page cache: they survive the death of the
//! process, not the loss of power. Synced records survive both. A service that wants an image rather
//! than a log writes the image as one record and [truncates](Disk::replace) to it.
//!
//! Not modelled: torn or corrupted records, a disk that lies about a sync, running out of space.

/// A machine's disk.
// Boxed: it changes hands twice in every step of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disk<R>(Box<Platter<R>>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Platter<R> {
    records: Vec<R>,
    synced: usize,
    syncs: u64,
    /// How many records a sync beside the requests covers, while it lasts.
    aside: Option<usize>,
    /// Whether the machine waits for a sync.
    waits: bool,
    /// How many records were lost with the power, and not asked for since.
    lost: usize,
}

impl<R> Default for Disk<R> {
    fn default() -> Self {
        Self(Box::new(Platter { records: Vec::new(), synced: 0, syncs: 0, aside: None, waits: false, lost: 0 }))
    }
}

impl<R> Disk<R> {
    /// Appends a record to the log. It is in the page cache until [`sync`](Self::sync).
    pub fn append(&mut self, record: R) {
        self.0.records.push(record);
    }

    /// Makes all that was written durable.
    pub fn sync(&mut self) {
        self.0.synced = self.0.records.len();
        self.0.syncs += 1;
    }

    /// Has another thread make durable all that was written so far: nothing waits for it. It is not begun while
    /// one [lasts](Self::is_syncing_aside).
    pub fn sync_aside(&mut self) {
        if self.0.aside.is_none() {
            self.0.aside = Some(self.0.records.len());
        }
    }

    /// Whether such a sync lasts: the disk is slow.
    #[must_use]
    pub fn is_syncing_aside(&self) -> bool {
        self.0.aside.is_some()
    }

    /// Whether the thread that serves requests still waits for a [`sync`](Self::sync): the disk is slow. Its timers
    /// run on, and a service whose real one ticks on that thread does nothing when they do.
    #[must_use]
    pub fn is_syncing(&self) -> bool {
        self.0.waits
    }

    /// The machine waits for a sync, or does not any more. For the kernel.
    pub fn set_syncing(&mut self, waits: bool) {
        self.0.waits = waits;
    }

    /// A sync [aside](Self::sync_aside) is over. For the kernel.
    pub fn end_sync_aside(&mut self) {
        if let Some(covered) = self.0.aside.take() {
            self.0.synced = self.0.synced.max(covered);
        }
    }

    /// Replaces the whole log by one durable record, in one atomic step (write aside, sync, rename).
    pub fn replace(&mut self, record: R) {
        self.0.records.clear();
        self.0.records.push(record);
        self.0.synced = 1;
        self.0.syncs += 1;
        self.0.aside = None;
    }

    /// What is readable now, oldest first.
    #[must_use]
    pub fn records(&self) -> &[R] {
        &self.0.records
    }

    /// How many records a loss of power would take.
    #[must_use]
    pub fn unsynced(&self) -> usize {
        self.0.records.len() - self.0.synced
    }

    /// How many records losses of power have taken since this was last asked. A *shadow*, as the attempt of a
    /// [`Context`](crate::Context) is: no real disk knows, and a model hands it to the history, and never decides by it.
    pub fn take_lost(&mut self) -> usize {
        let lost = self.0.lost;
        self.0.lost = 0;
        lost
    }

    /// How often the machine was made to wait for its disk: by [`sync`](Self::sync) or [`replace`](Self::replace).
    /// (What is being synced when power fails is kept: either may happen.)
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.0.syncs
    }

    /// What a backup has that is made now: what is durable. For the kernel.
    #[must_use]
    pub fn back_up(&self) -> Vec<R>
    where
        R: Clone,
    {
        self.0.records[..self.0.synced].to_vec()
    }

    /// All is as it was in that backup, and durable. For the kernel.
    pub fn restore(&mut self, backup: Vec<R>) {
        self.0.lost += self.0.records.len().saturating_sub(backup.len());
        self.0.synced = backup.len();
        self.0.records = backup;
        self.0.aside = None;
    }

    /// The machine loses power: what was not synced is gone. For the kernel.
    pub fn lose_power(&mut self) {
        self.0.lost += self.unsynced();
        self.0.records.truncate(self.0.synced);
        self.0.aside = None;
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
        assert_eq!([disk.take_lost(), disk.take_lost()], [1, 0]);
    }

    #[test]
    fn a_sync_aside_covers_what_was_written_when_it_began_once_it_has_ended() {
        let mut disk = Disk::default();
        disk.append(1);
        disk.sync_aside();
        disk.append(2);
        disk.sync_aside();
        assert!(disk.is_syncing_aside());
        assert_eq!((disk.unsynced(), disk.syncs()), (2, 0), "nobody waits for it");
        disk.end_sync_aside();
        assert_eq!((disk.unsynced(), disk.is_syncing_aside()), (1, false));
        disk.sync_aside();
        disk.lose_power();
        disk.end_sync_aside();
        assert_eq!((disk.records(), disk.unsynced()), (&[1][..], 0), "power was lost before its end");
        disk.sync_aside();
        disk.replace(9);
        disk.end_sync_aside();
        assert_eq!((disk.records(), disk.unsynced()), (&[9][..], 0));
    }

    #[test]
    fn a_replaced_log_is_durable_at_once() {
        let mut disk = Disk::default();
        disk.append(1);
        disk.replace(9);
        disk.lose_power();
        assert_eq!((disk.records(), disk.syncs()), (&[9][..], 1));
    }

    #[test]
    fn a_backup_has_what_was_durable_and_takes_the_place_of_all_there_is() {
        let mut disk = Disk::default();
        disk.append('a');
        disk.sync();
        disk.append('b');
        let backup = disk.back_up();
        disk.sync();
        disk.append('c');
        disk.restore(backup);
        assert_eq!((disk.records(), disk.unsynced()), (&['a'][..], 0));
        assert_eq!(disk.take_lost(), 2);
    }
}
