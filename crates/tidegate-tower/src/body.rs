//! The body of a response: the service's own, or that of a refusal.

use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of a response that went through a layer.
    #[derive(Debug)]
    pub struct Body<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = Kinds]
    #[derive(Debug)]
    enum Kind<B> {
        Passed { #[pin] body: B },
        Refused { bytes: Bytes },
    }
}

// === impl Body ===

impl<B> Body<B> {
    pub(crate) const fn passed(body: B) -> Self {
        Self { kind: Kind::Passed { body } }
    }

    pub(crate) const fn refused(bytes: Bytes) -> Self {
        Self { kind: Kind::Refused { bytes } }
    }
}

impl<B: HttpBody<Data = Bytes>> HttpBody for Body<B> {
    type Data = Bytes;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            Kinds::Passed { body } => body.poll_frame(context),
            Kinds::Refused { bytes } => {
                let bytes = core::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
        }
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passed { body } => body.is_end_stream(),
            Kind::Refused { bytes } => bytes.is_empty(),
        }
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Passed { body } => body.size_hint(),
            Kind::Refused { bytes } => {
                SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            }
        }
    }
}
