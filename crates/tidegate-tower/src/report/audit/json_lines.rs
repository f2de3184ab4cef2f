//! Records in a file: one JSON object on each line, in files that are only ever added to.
//!
//! A file that would get too long is renamed, `audit.jsonl` to `audit.jsonl.1` and so on, and a new one
//! is begun, so no line is ever divided. A file that somebody else renames or removes is begun anew. A
//! line that could be written only in part is taken back; if even that fails, what comes after begins a
//! line of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::record::AuditRecord;
use super::sink::Sink;

/// Writes records to a file, and renames it when it is long. Only one process may write to a file.
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    max_bytes: u64,
    /// How many files are kept, the one that is written included.
    files: u16,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    length: u64,
    /// Whether the last line of the file is not whole.
    torn: bool,
}

// === impl JsonLines ===

impl JsonLines {
    /// Opens this file for appending; it is created if it does not exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let open = Some(Open::at(&path)?);
        Ok(Self { path, max_bytes: 64 << 20, files: 16, open })
    }

    /// Sets how long a file gets, in bytes; 64 MiB unless this is called. A single line that is longer
    /// gets a file of its own.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how many files are kept, the one that is written included: at least 2, and 16 unless this is
    /// called. Older files are removed, so ship them first.
    #[must_use]
    pub const fn files(mut self, count: u16) -> Self {
        self.files = if count < 2 { 2 } else { count };
        self
    }

    /// The open file, or a new one if it was renamed or removed.
    fn current(&mut self) -> io::Result<&mut Open> {
        let open = match self.open.take() {
            Some(open) if open.is_at(&self.path)? => open,
            // The old file has been renamed or removed.
            Some(open) => {
                open.file.sync_all()?;
                Open::at(&self.path)?
            }
            None => Open::at(&self.path)?,
        };
        Ok(self.open.insert(open))
    }

    /// Renames the file to `.1`, and those that were renamed before to the next number.
    fn rotate(&mut self) -> io::Result<()> {
        if let Some(open) = self.open.take() {
            open.file.sync_all()?;
        }
        // Only up to the first gap: a rotation that failed half way must not push out the oldest file
        // when it is tried again.
        let mut last = 1;
        while last < self.files - 1 && self.numbered(last).try_exists()? {
            last += 1;
        }
        for number in (1..last).rev() {
            fs::rename(self.numbered(number), self.numbered(number + 1))?;
        }
        fs::rename(&self.path, self.numbered(1))?;
        sync_directory(&self.path)
    }

    fn numbered(&self, number: u16) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }
}

impl Sink for JsonLines {
    fn append(&mut self, record: &AuditRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let max_bytes = self.max_bytes;
        let length = self.current()?.length;
        let added = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if length > 0 && length.saturating_add(added) > max_bytes {
            self.rotate()?;
        }
        self.current()?.append(&line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.current()?.file.sync_all()
    }
}

// === impl Open ===

impl Open {
    fn at(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Self { file, length, torn: last != [b'\n'] })
    }

    /// Adds a line: all of it or nothing.
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.write_all(b"\n")?;
            self.length += 1;
            self.torn = false;
        }
        let written = self.file.write_all(line);
        match written {
            Ok(()) => self.length += u64::try_from(line.len()).unwrap_or(u64::MAX),
            Err(_) => self.torn = self.file.set_len(self.length).is_err(),
        }
        written
    }

    /// Whether the open file still has this name.
    #[cfg(unix)]
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        let (mine, there) = (self.file.metadata()?, fs::metadata(path));
        match there {
            Ok(there) => Ok((mine.dev(), mine.ino()) == (there.dev(), there.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the open file still has this name: here an open file can be neither renamed nor removed.
    #[cfg(not(unix))]
    fn is_at(&self, _path: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

/// Makes sure that new file names survive a crash of the machine.
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}
