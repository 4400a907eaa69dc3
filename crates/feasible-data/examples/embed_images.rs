//! Makes the embedded sample of Fashion-MNIST from the distributor's files.
//!
//! ```text
//! cargo run -p feasible-data --release --example embed_images -- DIRECTORY OUT
//! ```
//!
//! DIRECTORY holds the four IDX files as distributed (see `DATA.md`). Of the training images the
//! first 600 of each class by [`Images::hold_out`] with seed 1 are taken, of the test images 100;
//! the sample is written to OUT as IDX, compressed with zstd at its highest level. SHA-256 of the
//! files before and after compression are printed. The result is the same bytes every time.
//!
//! [`Images::hold_out`]: feasible_data::Images::hold_out

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use feasible_data::ImageSet;
use sha2::{Digest, Sha256};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, out] = arguments.as_slice() else {
        return Err("usage: embed_images DIRECTORY OUT".into());
    };
    let (images, split) = ImageSet::fashion_mnist().load(Some(Path::new(directory)))?;
    for (part, rows, per_class) in [("train", &split.train, 600), ("test", &split.test, 100)] {
        let (_, taken) = images.hold_out(rows, per_class, 1)?;
        let shape = images.shape();
        let sizes = [taken.len(), shape.height, shape.width];
        let pixels = taken.iter().flat_map(|&row| images.pixels(row as usize)).copied();
        write(out, &format!("{part}-images"), 0x803, &sizes, pixels.collect())?;
        let labels = taken.iter().map(|&row| images.labels()[row as usize] as u8);
        write(out, &format!("{part}-labels"), 0x801, &sizes[..1], labels.collect())?;
    }
    Ok(())
}

fn write(
    out: &str,
    what: &str,
    magic: u32,
    sizes: &[usize],
    content: Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let mut idx = magic.to_be_bytes().to_vec();
    for &size in sizes {
        idx.extend((size as u32).to_be_bytes());
    }
    idx.extend(content);
    let packed = zstd::encode_all(idx.as_slice(), 22)?;
    let file = format!("fashion-mnist-sample-{what}.idx.zst");
    std::fs::write(Path::new(out).join(&file), &packed)?;
    let hex = |bytes: &[u8]| -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    println!(
        "{file}  {} bytes\n  unpacked {}\n  packed   {}",
        packed.len(),
        hex(&idx),
        hex(&packed)
    );
    Ok(())
}
