//! The table of problem types.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemType {
    NotJson,
    Unauthorized,
    Forbidden,
    OriginNotAllowed,
    NotFound,
    UnknownJob,
    UnknownQueue,
    UnknownBatch,
    UnknownWebhook,
    MethodNotAllowed,
    RequestTimeout,
    ReservationLost,
    WrongState,
    WorkerLimit,
    OffsetMismatch,
    TooLarge,
    TooManyItems,
    UnsupportedMediaType,
    HostNotAllowed,
    InvalidRequest,
    IdempotencyKeyReused,
    QueueFull,
    TooManyQueues,
    RateLimited,
    Internal,
    Unavailable,
    StorageFull,
}

impl ProblemType {
    /// The table: status, slug, title.
    pub(super) fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::NotJson => (400, "not-json", "The body is not JSON"),
            Self::Unauthorized => (401, "unauthorized", "A key or a token is needed"),
            Self::Forbidden => (403, "forbidden", "The key or token is not for this"),
            Self::OriginNotAllowed => (403, "origin-not-allowed", "The origin is not allowed"),
            Self::NotFound => (404, "not-found", "There is no such route"),
            Self::UnknownJob => (404, "unknown-job", "There is no such job"),
            Self::UnknownQueue => (404, "unknown-queue", "There is no such queue"),
            Self::UnknownBatch => (404, "unknown-batch", "There is no such batch"),
            Self::UnknownWebhook => (404, "unknown-webhook", "There is no such webhook"),
            Self::MethodNotAllowed => (405, "method-not-allowed", "The route does not have this method"),
            Self::RequestTimeout => (408, "request-timeout", "The request took too long"),
            Self::ReservationLost => (409, "reservation-lost", "The reservation has ended"),
            Self::WrongState => (409, "wrong-state", "The state does not allow it"),
            Self::WorkerLimit => (409, "worker-limit", "The worker holds as many jobs as allowed"),
            Self::OffsetMismatch => (409, "offset-mismatch", "The batch does not go on there"),
            Self::TooLarge => (413, "too-large", "Too large"),
            Self::TooManyItems => (413, "too-many-items", "Too many items"),
            Self::UnsupportedMediaType => (415, "unsupported-media-type", "The content type is not supported"),
            Self::HostNotAllowed => (421, "host-not-allowed", "The host is not allowed"),
            Self::InvalidRequest => (422, "invalid-request", "The request breaks a rule"),
            Self::IdempotencyKeyReused => (422, "idempotency-key-reused", "The idempotency key was used before"),
            Self::QueueFull => (429, "queue-full", "The queue is full"),
            Self::TooManyQueues => (429, "too-many-queues", "There are too many queues"),
            Self::RateLimited => (429, "rate-limited", "Too many calls"),
            Self::Internal => (500, "internal", "A fault of the service"),
            Self::Unavailable => (503, "unavailable", "Not available now"),
            Self::StorageFull => (507, "storage-full", "Redis is full"),
        }
    }
}
