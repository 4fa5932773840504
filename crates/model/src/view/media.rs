//! Images and files within the providers' limits: images that a provider can fetch are sent by address, the newest first; everything
//! else is named in words. The bytes of blobs are not the model's to read.

use super::steps::Step;
use crate::payload::Attachment;

/// Images in one request: above this number Anthropic lowers the size that one may have.
const MAX_IMAGES: usize = 20;

/// The types that every provider takes.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The address of an image that can be sent by address.
pub(super) fn image_url(attachment: &Attachment) -> Option<&str> {
    let url = attachment.url.as_deref()?;
    let fetched = url.starts_with("https://") || url.starts_with("http://");
    (fetched && IMAGE_TYPES.contains(&attachment.media_type.as_str())).then_some(url)
}

/// Words for an attachment that is not sent.
pub(super) fn note(attachment: &Attachment) -> String {
    let name = attachment.name.as_deref().map(|n| format!(" {n}")).unwrap_or_default();
    let size = attachment.len_bytes.map(|n| format!(", {n} bytes")).unwrap_or_default();
    format!("[attachment{name}: {}{size}]", attachment.media_type)
}

/// Leaves only the newest images their address.
pub(super) fn limit_images(steps: &mut [Step]) {
    let mut left = MAX_IMAGES;
    for step in steps.iter_mut().rev() {
        let attachments: Vec<&mut Attachment> = match step {
            Step::User { attachments, .. } => attachments.iter_mut().collect(),
            Step::Said(said) => said.calls.iter_mut().flat_map(|call| &mut call.attachments).collect(),
            Step::Summary(_) => Vec::new(),
        };
        for attachment in attachments.into_iter().rev().filter(|a| image_url(a).is_some()) {
            if left == 0 {
                attachment.url = None;
            }
            left = left.saturating_sub(1);
        }
    }
}
