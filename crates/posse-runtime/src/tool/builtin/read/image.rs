//! Images: what they are and whether a model will take them. One it will not take spoils every request after it,
//! because the conversation carries it on.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use posse_core::message::Media;

/// The API counts the base64 text, not the file: 5 MiB of it hold 3.75 MiB.
const MAX_BASE64: usize = 5 * 1024 * 1024;
/// The API takes no wider and no higher ones.
const MAX_SIDE: u32 = 8000;
/// Larger files are not even read.
pub(super) const MAX_READ: u64 = 50_000_000;

/// An image a model can be shown.
pub(super) struct Image {
    pub(super) media: Media,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// What kind of image begins like this. The name of a file is no help: the API refuses a JPEG that is called a PNG.
pub(super) fn media_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The image, or what is wrong with it, to follow its name.
pub(super) fn check(bytes: &[u8]) -> Result<Image, String> {
    const ADVICE: &str = "Make a smaller copy in Bash and read that.";
    let damaged = || "is a damaged image and cannot be shown.".to_owned();
    let media_type = media_type(bytes).ok_or_else(damaged)?;
    let (width, height) = dimensions(media_type, bytes).ok_or_else(damaged)?;
    if width == 0 || height == 0 {
        return Err(damaged());
    }
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(format!(
            "is {width} by {height} pixels; images may be at most {MAX_SIDE} pixels wide and high. {ADVICE}"
        ));
    }
    if bytes.len().div_ceil(3) * 4 > MAX_BASE64 {
        // Rounded, so that what is just too large does not look as if it were not.
        let megabytes = bytes.len().div_ceil(10_000);
        return Err(format!(
            "is an image of {}.{:02} MB; at most 3.93 MB can be shown (5 MiB as base64). {ADVICE}",
            megabytes / 100,
            megabytes % 100
        ));
    }
    let media = Media { media_type: media_type.into(), data: STANDARD.encode(bytes) };
    Ok(Image { media, width, height })
}

/// Width and height, from the header.
fn dimensions(media_type: &str, bytes: &[u8]) -> Option<(u32, u32)> {
    match media_type {
        "image/png" => Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?)),
        "image/gif" => Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?)),
        "image/webp" => match bytes.get(12..16)? {
            b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
            b"VP8L" => {
                let bits = little(bytes, 21, 4)?;
                Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
            }
            b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
            _ => None,
        },
        _ => jpeg(bytes),
    }
}

/// Goes from segment to segment until one says how large the image is.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            // Padding, and markers that stand alone.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            // Tables that share the range of the frames.
            0xc4 | 0xc8 | 0xcc => at += 2 + usize::try_from(big(bytes, at + 2, 2)?).ok()?,
            0xc0..=0xcf => return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?)),
            // The image itself, or its end.
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::try_from(big(bytes, at + 2, 2)?).ok()?,
        }
    }
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(bytes.get(at..at + length)?.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(bytes.get(at..at + length)?.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}
