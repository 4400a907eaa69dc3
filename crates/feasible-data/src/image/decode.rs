//! One PNG or JPEG image as C × H × W bytes.
//!
//! 16-bit PNG is cut to 8 bits, palettes are looked up, an alpha channel is left out if it is
//! opaque everywhere and refused otherwise. JPEG is decoded without SIMD, so that an image is the
//! same bytes on every machine, and strictly: a truncated file is an error, not a grey half.

use std::io::Cursor;

use png::{ColorType, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::images::ImageShape;

/// The largest height and width, in pixels.
const LARGEST: usize = 8192;

/// Shape and pixels, `None` if these are more than `room` bytes; or why not, in words. The size is looked at before
/// anything is decoded.
///
/// # Errors
/// Bytes that are no such image, in words.
pub fn decode_image(bytes: &[u8], room: u64) -> Result<Option<(ImageShape, Vec<u8>)>, String> {
    match bytes {
        [] => Err("it is empty".into()),
        [0x89, b'P', b'N', b'G', ..] => png(bytes, room),
        [0xff, 0xd8, ..] => jpeg(bytes, room),
        _ => Err("its first bytes are neither those of PNG nor of JPEG: convert it".into()),
    }
}

fn png(bytes: &[u8], room: u64) -> Result<Option<(ImageShape, Vec<u8>)>, String> {
    let mut decoder =
        png::Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: LARGEST * LARGEST * 4 });
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|e| e.to_string())?;
    let (width, height) = reader.info().size();
    let (width, height) = (width as usize, height as usize);
    check_size(width, height)?;
    if (width * height) as u64 > room {
        return Ok(None);
    }
    let size = reader.output_buffer_size().ok_or("it is too large")?;
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(|e| e.to_string())?;
    // The end of the file too: an image cut short after its last pixel is still cut short.
    reader.finish().map_err(|e| e.to_string())?;
    pixels.truncate(frame.buffer_size());
    let (channels, opaque) = match frame.color_type {
        ColorType::Grayscale => (1, false),
        ColorType::Rgb => (3, false),
        ColorType::GrayscaleAlpha => (1, true),
        ColorType::Rgba => (3, true),
        ColorType::Indexed => return Err("its palette could not be looked up".into()),
    };
    let stride = channels + usize::from(opaque);
    if opaque && pixels.chunks_exact(stride).any(|pixel| pixel[channels] != u8::MAX) {
        return Err("it has transparent pixels: flatten it onto a background first".into());
    }
    let shape = ImageShape { channels, height, width };
    Ok(Some((shape, planes(&pixels, shape, stride))).filter(|_| shape.len() as u64 <= room))
}

fn jpeg(bytes: &[u8], room: u64) -> Result<Option<(ImageShape, Vec<u8>)>, String> {
    let options = DecoderOptions::new_safe()
        .set_strict_mode(true)
        .set_max_width(LARGEST)
        .set_max_height(LARGEST);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    decoder.decode_headers().map_err(|e| e.to_string())?;
    let channels = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => 1,
        _ => 3,
    };
    let space = if channels == 1 { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let info = decoder.info().ok_or("it has no header")?;
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    check_size(width, height)?;
    let shape = ImageShape { channels, height, width };
    if shape.len() as u64 > room {
        return Ok(None);
    }
    let pixels = decoder.decode().map_err(|e| e.to_string())?;
    if pixels.len() != shape.len() {
        return Err(format!("it decodes to {} bytes, not to {shape}", pixels.len()));
    }
    Ok(Some((shape, planes(&pixels, shape, channels))))
}

fn check_size(width: usize, height: usize) -> Result<(), String> {
    if width == 0 || height == 0 || width > LARGEST || height > LARGEST {
        return Err(format!("it is {width} × {height} pixels: 1 to {LARGEST} are allowed"));
    }
    Ok(())
}

/// H × W × `stride` interleaved bytes as C × H × W planes.
fn planes(pixels: &[u8], shape: ImageShape, stride: usize) -> Vec<u8> {
    let channel = |c: usize| pixels.chunks_exact(stride).map(move |pixel| pixel[c]);
    (0..shape.channels).flat_map(channel).collect()
}
