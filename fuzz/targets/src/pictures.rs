//! The small folder of pictures that a convolutional model is trained on and predicts.

use std::path::Path;

const PICTURES: [&[u8]; 3] = [
    include_bytes!("../../corpus/images/valid-grey.png"),
    include_bytes!("../../corpus/images/valid-grey16.png"),
    include_bytes!("../../corpus/images/valid-grey.jpg"),
];

/// Writes them, under two classes.
///
/// # Errors
/// What the system says.
pub fn write(folder: &Path) -> std::io::Result<()> {
    for class in ["a", "b"] {
        std::fs::create_dir_all(folder.join(class))?;
        for (at, picture) in PICTURES.iter().enumerate() {
            // Without the letter that tells the target `images` what the file is.
            std::fs::write(folder.join(class).join(format!("{at}.png")), &picture[1..])?;
        }
    }
    Ok(())
}
