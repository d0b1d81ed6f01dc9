//! `intray healthcheck`: asks the service in this container whether it is ready.

mod any_certificate;

use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

use rustls::StreamOwned;

use crate::config::Listen;

const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum bytes that are read of an answer: room for the status line and the failing checks.
const ANSWER_BYTES: u64 = 16 << 10;

/// # Errors
/// One line that says why the service is not ready.
pub fn run(listen: &Listen, by_tls: bool) -> Result<(), String> {
    let target = listen.from_here();
    let answer = ask(&target, by_tls).map_err(|error| format!("no answer from {target}: {error}"))?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.lines().next().and_then(|line| line.strip_prefix("HTTP/1.1 ")) {
        Some(status) if status.starts_with("200") => Ok(()),
        Some(status) => Err(format!("{target} answered {status}: {}", body.trim().replace('\n', ", "))),
        None => Err(format!("{target} does not speak HTTP")),
    }
}

/// Sends one GET over a plain socket, which needs no runtime and no HTTP client.
fn ask(target: &Listen, by_tls: bool) -> io::Result<Vec<u8>> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in target.address().to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                return match by_tls {
                    false => exchange(stream, target),
                    true => exchange(StreamOwned::new(any_certificate::connection()?, stream), target),
                };
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn exchange(mut stream: impl Read + Write, target: &Listen) -> io::Result<Vec<u8>> {
    stream.write_all(format!("GET /readyz HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    /// The verdict about a service that gives this answer.
    fn asked(answer: &'static str) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let listen: Listen =
            format!("0.0.0.0:{}", listener.local_addr().expect("bound").port()).parse().expect("valid");
        let service = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a caller");
            let mut request = [0; 512];
            let length = stream.read(&mut request).expect("a request");
            stream.write_all(answer.as_bytes()).expect("an answer");
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let verdict = run(&listen, false);
        let request = service.join().expect("no panic");
        assert!(request.starts_with("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
        verdict
    }

    #[test]
    fn ready_service_is_healthy() {
        assert_eq!(asked("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), Ok(()));
    }

    #[test]
    fn unready_service_says_why() {
        let message =
            asked("HTTP/1.1 503 Service Unavailable\r\n\r\nredis: away\nsweep: late\n").expect_err("not ready");
        assert!(message.ends_with("answered 503 Service Unavailable: redis: away, sweep: late"), "{message}");
    }

    #[test]
    fn other_protocol_on_the_port_is_unhealthy() {
        assert!(asked("+PONG\r\n").is_err());
    }

    #[test]
    fn closed_port_is_unhealthy() {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
        assert!(run(&free.to_string().parse().expect("valid"), false).is_err());
    }
}
