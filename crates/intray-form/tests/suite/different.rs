//! Where a form means something else than the suite, and why.

/// A file, a group and a test of the suite.
type SuiteName = (&'static str, &'static str, &'static str);

pub const DIFFERENT: &[(&str, &[SuiteName])] = &[
    (
        "`format` is asserted",
        &[
            ("format", "email format", "invalid email string is only an annotation by default"),
            ("format", "uri format", "invalid uri string is only an annotation by default"),
            ("format", "date format", "invalid date string is only an annotation by default"),
            ("format", "date-time format", "invalid date-time string is only an annotation by default"),
        ],
    ),
    (
        "an email address is what HTML says, and so what a browser takes: dots may stand anywhere, nothing is quoted, and no address has brackets",
        &[
            (EMAIL.0, EMAIL.1, "dot after local part is not valid"),
            (EMAIL.0, EMAIL.1, "dot before local part is not valid"),
            (EMAIL.0, EMAIL.1, "two subsequent dots inside local part are not valid"),
            (EMAIL.0, EMAIL.1, "a quoted string with a @ in the local part is valid"),
            (EMAIL.0, EMAIL.1, "a quoted string with a double dot in the local part is valid"),
            (EMAIL.0, EMAIL.1, "a quoted string with a space in the local part is valid"),
            (EMAIL.0, EMAIL.1, "an IPv4-address-literal after the @ is valid"),
            (EMAIL.0, EMAIL.1, "an IPv6-address-literal after the @ is valid"),
        ],
    ),
    (
        "a uri is an address of the web: `http` or `https`",
        &[
            (URI.0, URI.1, "a valid URL "),
            (URI.0, URI.1, "a valid URL with ftp scheme"),
            (URI.0, URI.1, "a valid URN"),
            (URI.0, URI.1, "a valid mailto URI"),
            (URI.0, URI.1, "a valid newsgroup URI"),
            (URI.0, URI.1, "a valid tel URI"),
        ],
    ),
    ("a uri has no user", &[(URI.0, URI.1, "a valid URL with many special characters")]),
    (
        "a time has `T` and `Z` in upper case, and no leap second, which no browser can show",
        &[
            (TIME.0, TIME.1, "case-insensitive T and Z"),
            (TIME.0, TIME.1, "a valid date-time with a leap second, UTC"),
            (TIME.0, TIME.1, "a valid date-time with a leap second, with minus offset"),
        ],
    ),
];

const EMAIL: (&str, &str) = ("optional/format/email", "validation of e-mail addresses");
const URI: (&str, &str) = ("optional/format/uri", "validation of URIs");
const TIME: (&str, &str) = ("optional/format/date-time", "validation of date-time strings");
