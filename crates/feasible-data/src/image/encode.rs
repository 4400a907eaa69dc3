//! C × H × W bytes as a PNG file.

use super::images::ImageShape;
use crate::disk::MARK;

/// A PNG file of some pixels; `None` if they are not 1 or 3 channels of this shape.
pub fn encode_png(shape: ImageShape, pixels: &[u8]) -> Option<Vec<u8>> {
    let colour = match shape.channels {
        1 => png::ColorType::Grayscale,
        3 => png::ColorType::Rgb,
        _ => return None,
    };
    if pixels.len() != shape.len() || shape.is_empty() {
        return None;
    }
    let plane = shape.height * shape.width;
    let interleaved: Vec<u8> = (0..plane)
        .flat_map(|at| (0..shape.channels).map(move |channel| pixels[channel * plane + at]))
        .collect();
    let mut file = Vec::new();
    let (width, height) = (shape.width.try_into().ok()?, shape.height.try_into().ok()?);
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(colour);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.add_text_chunk("Software".into(), MARK.into()).ok()?;
    encoder.write_header().ok()?.write_image_data(&interleaved).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::super::decode::decode_image;
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        for channels in [1, 3] {
            let shape = ImageShape { channels, height: 4, width: 5 };
            let pixels: Vec<u8> = (0..shape.len()).map(|n| (n * 37 % 256) as u8).collect();
            let file = encode_png(shape, &pixels).unwrap();
            assert_eq!(decode_image(&file, 1_000), Ok(Some((shape, pixels))));
        }
        let shape = ImageShape { channels: 2, height: 1, width: 1 };
        assert_eq!(encode_png(shape, &[0, 0]), None);
        assert_eq!(encode_png(ImageShape { channels: 1, ..shape }, &[0, 0]), None);
    }
}
