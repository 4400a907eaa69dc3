//! Stopping from outside: Ctrl-C, a deadline, a button.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A flag that stops every training that listens to it, at the next batch. Clones are one flag.
///
/// ```
/// let interrupt = feasible_run::Interrupt::new();
/// let handler = interrupt.clone(); // for the signal handler
/// handler.raise();
/// assert!(interrupt.is_raised());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
    listeners: Arc<Mutex<Vec<Weak<AtomicBool>>>>,
}

impl Interrupt {
    /// Not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops all that listen, now and later.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        for listener in self.listeners().iter().filter_map(Weak::upgrade) {
            listener.store(true, Ordering::SeqCst);
        }
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Makes a training's own flag follow this one.
    pub(crate) fn listen(&self, flag: &Arc<AtomicBool>) {
        let mut listeners = self.listeners();
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(flag));
        drop(listeners);
        if self.is_raised() {
            flag.store(true, Ordering::SeqCst);
        }
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<Weak<AtomicBool>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
