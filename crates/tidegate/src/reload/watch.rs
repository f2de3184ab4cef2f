//! Notices that a file may have changed, however that was done.
//!
//! Editors replace a file by renaming another over it, Kubernetes swaps a symbolic link some way up,
//! others write in place. So it is not the file that is watched but every folder in which something
//! on the way to it can be replaced: that of the file, and that of each symbolic link before it.
//! File systems that tell nothing (a network's, some mounts into containers) are looked at every few
//! seconds as well.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How often the file is looked at without an event.
const ANYWAY: Duration = Duration::from_secs(10);
/// How long there must have been no event before the file is read: it may be half written.
const QUIET: Duration = Duration::from_millis(100);
/// The number of events in a row after which the file is read nevertheless.
const MOST_EVENTS: usize = 20;
/// The most symbolic links followed, as in the kernel.
const MOST_LINKS: usize = 40;

/// The paths at which something can be replaced.
type Places = BTreeSet<PathBuf>;

/// A file that is watched.
pub(super) struct FileWatch {
    path: PathBuf,
    /// `None` if the system refuses to watch; then the file is only looked at regularly.
    watcher: Option<RecommendedWatcher>,
    places: Arc<Mutex<Places>>,
    folders: BTreeSet<PathBuf>,
    happened: Arc<Notify>,
}

// === impl FileWatch ===

impl FileWatch {
    /// Begins to watch a file.
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let (places, happened) = (Arc::new(Mutex::new(Places::new())), Arc::new(Notify::new()));
        let (watched, tell) = (Arc::clone(&places), Arc::clone(&happened));
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
            // An error means that events were lost, so one of them may have concerned the file.
            if event.is_ok_and(|event| !concerns(&event, &watched)) {
                return;
            }
            tell.notify_one();
        });
        let watcher = watcher
            .inspect_err(|error| {
                tracing::warn!(%error, "cannot watch the policy file; looking at it now and then");
            })
            .ok();
        let mut watch = Self { path, watcher, places, folders: BTreeSet::new(), happened };
        watch.follow();
        Ok(watch)
    }

    /// Waits until the file may have changed, and then until there are no events for a moment.
    pub(super) async fn changed(&mut self) {
        if timeout(ANYWAY, self.happened.notified()).await.is_ok() {
            for _ in 0..MOST_EVENTS {
                if timeout(QUIET, self.happened.notified()).await.is_err() {
                    break;
                }
            }
        }
        self.follow();
    }

    /// Waits a moment, for a file that is not there to come back.
    pub(super) async fn pause(&mut self) {
        // Either an event comes or the time is up; either way it is time to look again.
        let _ = timeout(QUIET, self.happened.notified()).await;
        #[expect(clippy::disallowed_methods, reason = "files change in real time")]
        sleep(QUIET).await;
        self.follow();
    }

    /// Watches the folders that now lead to the file.
    fn follow(&mut self) {
        let places = places(&self.path);
        let folders = places.iter().filter_map(|place| place.parent()).map(Path::to_owned);
        let folders: BTreeSet<_> = folders.collect();
        *self.places.lock().unwrap_or_else(PoisonError::into_inner) = places;
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.folders.difference(&folders) {
            // The folder may not exist any more, and then it is not watched either.
            let _ = watcher.unwatch(gone);
        }
        for folder in &folders {
            // Also the known ones: a folder that was made anew has to be watched anew.
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                tracing::debug!(%error, folder = %folder.display(), "cannot watch");
            }
        }
        self.folders = folders;
    }
}

/// Whether an event can have changed what the path leads to. Reading the file, which we do
/// ourselves, does not.
fn concerns(event: &Event, places: &Places) -> bool {
    let changes = match event.kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    // A folder itself was moved or removed, or something in it was.
    let is_place = |path: &PathBuf| {
        let is_folder = || places.iter().any(|place| place.parent() == Some(path));
        path.file_name().is_none() || places.contains(path) || is_folder()
    };
    changes && (event.paths.is_empty() || event.paths.iter().any(is_place))
}

/// Every place on the way to `path` where something can be replaced: symbolic links, and the file.
fn places(path: &Path) -> Places {
    let mut places = Places::new();
    let mut folder = PathBuf::from("/");
    let mut ahead: Vec<OsString> = names(path);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            folder.pop();
            continue;
        }
        let here = folder.join(&name);
        match fs::read_link(&here) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                places.insert(here);
                if target.is_absolute() {
                    folder = PathBuf::from("/");
                }
                ahead.extend(names(&target));
            }
            _ if ahead.is_empty() || !here.exists() => {
                places.insert(here);
                break;
            }
            _ => folder = here,
        }
    }
    places
}

/// The names in a path, last one first.
fn names(path: &Path) -> Vec<OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    let mut names: Vec<_> = named.collect();
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(path: &Path) -> Vec<String> {
        let root = fs::canonicalize(path.ancestors().nth(1).unwrap()).unwrap();
        let shown =
            |place: &PathBuf| place.strip_prefix(&root).unwrap_or(place).display().to_string();
        places(path).iter().map(shown).collect()
    }

    #[test]
    fn every_link_on_the_way_is_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("..one")).unwrap();
        fs::write(root.join("..one/p.yaml"), "x").unwrap();
        symlink("..one", root.join("..data")).unwrap();
        symlink("..data/p.yaml", root.join("p.yaml")).unwrap();
        assert_eq!(found(&root.join("p.yaml")), ["..data", "..one/p.yaml", "p.yaml"]);
        fs::write(root.join("plain.yaml"), "x").unwrap();
        assert_eq!(found(&root.join("plain.yaml")), ["plain.yaml"]);
        assert_eq!(found(&root.join("gone.yaml")), ["gone.yaml"]);
    }

    #[test]
    fn links_in_a_circle_come_to_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        assert_eq!(found(&root.join("a")), ["a", "b"]);
    }

    #[test]
    fn reading_a_file_is_not_a_change() {
        let places = Places::from([PathBuf::from("/d/f")]);
        let event = |kind, path: &str| Event::new(kind).add_path(path.into());
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert!(!concerns(&event(open, "/d/f"), &places));
        assert!(concerns(&event(written, "/d/f"), &places));
        assert!(!concerns(&event(written, "/d/other"), &places));
        assert!(concerns(&event(EventKind::Any, "/d"), &places), "the folder itself");
        assert!(concerns(&Event::new(EventKind::Other), &places), "events were lost");
    }
}
