//! What several packages of intray need, and none of it knows of jobs.

/// Small files that an operator gives us.
pub mod files;
/// Parsers of flags whose values may be secret.
pub mod flags;
/// Hosts and ports, as URLs and headers write them.
pub mod hosts;
/// SHA-256 digests.
pub mod sha256;
/// Limits that all callers share.
pub mod shares;
/// Byte order marks, and sizes for people.
pub mod text;
/// Long waits, which stories about their end divide.
pub mod waits;
