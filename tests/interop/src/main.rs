// SPDX-License-Identifier: MIT
//! Print what an image holds, as the crate `dwarfs` reads it.
//!
//! Columns as in the manifests of the test images but for the hash: path, type, mode, uid, gid,
//! mtime, size, inode, rdev, target; backslash, tab, newline and carriage return are escaped. The
//! line of a regular file is followed by its contents, which are `size` bytes, and a newline. Files
//! are small enough to be in memory.
use dwarfs::archive::{InodeKind, IsInode};
use dwarfs::{Archive, AsChunks, Inode};
use std::io::{BufWriter, Read, Write};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

struct Printer<W: Write> {
    archive: Archive<std::fs::File>,
    contents: Vec<u8>, // of the last regular file
    out: W,
}

impl<W: Write> Printer<W> {
    fn read(&mut self, file: dwarfs::File<'_>) -> Result<u64> {
        self.contents.clear();
        Ok(file.as_reader(&mut self.archive).read_to_end(&mut self.contents)? as u64)
    }

    fn print(&mut self, path: &str, inode: Inode<'_>) -> Result<()> {
        let metadata = inode.metadata();
        let mode = metadata.file_type_mode();
        let (mut rdev, mut target) = ("-".into(), String::from("-"));
        let mut size = 0;
        let letter = match inode.classify() {
            InodeKind::Directory(dir) => {
                size = dir.entries().len() as u64;
                'd'
            }
            InodeKind::Symlink(link) => {
                size = link.target().len() as u64;
                target = escape(link.target());
                'l'
            }
            InodeKind::File(file) => {
                size = self.read(file)?;
                'f'
            }
            InodeKind::Device(device) => {
                rdev = device.device_id().to_string();
                if mode.type_bits() == 0o020000 { 'c' } else { 'b' }
            }
            InodeKind::Ipc(_) => {
                if mode.type_bits() == 0o010000 { 'p' } else { 's' }
            }
            kind => return Err(format!("{path}: unexpected kind {kind:?}").into()),
        };
        writeln!(
            self.out,
            "{}\t{letter}\t{:04o}\t{}\t{}\t{}\t{size}\t{}\t{rdev}\t{target}",
            escape(path),
            mode.0 & 0o7777,
            metadata.uid(),
            metadata.gid(),
            metadata.mtime(),
            inode.inode_num(),
        )?;
        if letter == 'f' {
            self.out.write_all(&self.contents)?;
            writeln!(self.out)?;
        }
        if let Some(dir) = inode.as_dir() {
            for entry in dir.entries() {
                let below = match path {
                    "." => entry.name().to_string(),
                    _ => format!("{path}/{}", entry.name()),
                };
                self.print(&below, entry.inode())?;
            }
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or("usage: interop IMAGE")?;
    let (index, archive) = Archive::new(std::fs::File::open(path)?)?;
    let mut printer = Printer {
        archive,
        contents: Vec::new(),
        out: BufWriter::new(std::io::stdout().lock()),
    };
    printer.print(".", index.root().to_inode())?;
    printer.out.flush()?;
    Ok(())
}
