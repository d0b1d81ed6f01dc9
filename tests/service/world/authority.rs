//! Certificates of a story's own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

/// A certificate authority with a folder for its files.
pub struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

/// A certificate and its key, in files.
pub struct CertifiedKey {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl CertificateAuthority {
    pub fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new([]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let authority = Self { issuer, folder: folder.join(name) };
        fs::create_dir(&authority.folder).expect("a folder");
        fs::write(authority.ca_file(), authority.issuer.pem()).expect("written");
        authority
    }

    pub fn ca_file(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// For a server or a client of this name, until a year.
    pub fn issue(&self, name: &str, until: i32) -> CertifiedKey {
        let mut params = CertificateParams::new([name.to_owned()]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until, 1, 1));
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let file = |kind: &str, text: String| {
            let file = self.folder.join(format!("{name}-{until}.{kind}"));
            fs::write(&file, text).expect("written");
            file
        };
        CertifiedKey { certificate: file("pem", certificate.pem()), key: file("key", key.serialize_pem()) }
    }
}
