//! Unknown host names and pages of other sites cannot use a service without keys.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::{Answer, World};

/// A request by DNS rebinding: the browser takes host and origin for the service's own.
async fn rebound(w: &World, method: &str, path: &str, host: &str) -> Answer {
    let origin = format!("http://{host}");
    w.request(method, path).header("host", host).header("origin", &origin).json(r#"{"payload":1}"#).send().await
}

#[tokio::test]
async fn dns_rebinding_is_refused_on_all_addresses() {
    let w = World::plan().on_all_addresses().switch("--insecure").start().await;
    w.enqueue(1).await;
    for (method, path) in [
        ("POST", "/jobs"),
        ("POST", "/jobs/reserve"),
        ("PATCH", "/queues/default"),
        ("DELETE", "/queues/default?state=waiting&force=true"),
        ("GET", "/queues"),
        ("GET", "/console/"),
        ("GET", "/nowhere"),
    ] {
        for host in ["evil.example:7070", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example"] {
            let answer = rebound(&w, method, path, host).await;
            assert_eq!(answer.status, 421, "{method} {path} {host}: {}", answer.text());
            let problem = answer.refused("host-not-allowed");
            let detail = problem["detail"].as_str().expect("words");
            assert!(detail.contains(host) && detail.contains("--allowed-host"), "{detail}");
        }
    }
    for host in ["localhost", "127.0.0.1:7070", "127.9.9.9", "[::1]:80", "desk.localhost"] {
        assert_eq!(rebound(&w, "GET", "/queues/default", host).await.is(200)["counts"]["waiting"], 1, "{host}");
    }
    w.check().await;
}

#[tokio::test]
async fn allowed_host_accepts_names_and_a_wildcard() {
    let named =
        World::plan().on_all_addresses().switch("--insecure").flag("--allowed-host", "queue.example").start().await;
    for (host, status) in
        [("queue.example", 200), ("QUEUE.example:8080", 200), ("localhost", 200), ("evil.example", 421)]
    {
        assert_eq!(rebound(&named, "GET", "/queues", host).await.status, status, "{host}");
    }
    let any =
        World::plan().on_all_addresses().switch("--insecure").flag("--allowed-host", "queue.example,*").start().await;
    assert_eq!(rebound(&any, "GET", "/queues", "evil.example").await.status, 200);
}

/// A rebound page has no key, so every host is accepted unless the operator lists hosts.
#[tokio::test]
async fn host_is_checked_with_keys_only_when_allowed_hosts_are_set() {
    let keyed = World::plan().with_keys(&[]).start().await;
    assert_eq!(rebound(&keyed, "GET", "/queues", "queue.example").await.status, 200);
    let named = World::plan().with_keys(&[]).on_all_addresses().flag("--allowed-host", "queue.example").start().await;
    for (host, status) in [("queue.example", 200), ("127.0.0.1", 200), ("evil.example", 421)] {
        assert_eq!(rebound(&named, "GET", "/queues", host).await.status, status, "{host}");
    }
}

#[tokio::test]
async fn probes_of_foreign_hosts_get_no_details() {
    let w = World::plan().on_all_addresses().switch("--insecure").start().await;
    let asked = async |path: &str, host: &str| {
        let answer = w.request("GET", path).header("host", host).send().await;
        (answer.status, answer.text())
    };
    let fine = (200, "ok".to_owned());
    for path in ["/livez", "/readyz", "/readyz?verbose"] {
        assert_eq!(asked(path, "10.1.2.3:7070").await, fine, "{path}");
    }
    assert!(asked("/readyz?verbose", "localhost").await.1.contains("eviction: ok"));
    let _: String = w.engine.run("CONFIG SET maxmemory-policy allkeys-lru").await;
    let ours = crate::world::eventually("readiness goes", async || {
        let answer = asked("/readyz", "localhost").await;
        (answer.0 == 503).then_some(answer.1)
    })
    .await;
    assert!(ours.contains("allkeys-lru"), "{ours}");
    for path in ["/readyz", "/readyz?verbose"] {
        assert_eq!(asked(path, "evil.example").await, (503, "not ready".to_owned()));
    }
}

/// RFC 9112, section 3.2.2: the service must ignore `Host` then.
#[tokio::test]
async fn absolute_target_overrides_the_host_header() {
    let w = World::start().await;
    let status_of = async |target: &str, host: &str| {
        let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
        let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.expect("open");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.expect("an answer");
        answer.split(' ').nth(1).expect("a status").to_owned()
    };
    for (target, host, status) in [
        ("/queues", "127.0.0.1", "200"),
        ("/queues", "evil.example", "421"),
        ("http://evil.example/queues", "127.0.0.1", "421"),
        ("http://127.0.0.1@evil.example/queues", "127.0.0.1", "421"),
        ("http://localhost:7070/queues", "evil.example", "200"),
        ("http://evil.example/livez", "127.0.0.1", "200"),
    ] {
        assert_eq!(status_of(target, host).await, status, "{target} with Host: {host}");
    }
    w.check().await;
}

#[tokio::test]
async fn cross_site_reads_are_refused_without_access_control() {
    let w = World::plan().own_process().switch("--demo").flag("--cors-origin", "https://desk.example").start().await;
    let id = w.enqueue(1).await;
    let from = |w: &World, path: &str, site: &str, origin: Option<&str>| {
        let request = w.request("GET", path).header("sec-fetch-site", site);
        origin.map_or_else(
            || request,
            |origin| w.request("GET", path).header("sec-fetch-site", site).header("origin", origin),
        )
    };
    let job = format!("/jobs/{id}");
    let reads = ["/queues", &job, "/queues/default/jobs", "/workers/ann/reservations?queue=a,b", "/metrics"];
    for path in reads {
        for origin in [None, Some("https://evil.example"), Some("null")] {
            let answer = from(&w, path, "cross-site", origin).send().await;
            assert_eq!(answer.status, 403, "{path} by {origin:?}: {}", answer.text());
            answer.refused("origin-not-allowed");
        }
        for (site, origin) in
            [("cross-site", Some("https://desk.example")), ("same-origin", None), ("same-site", None), ("none", None)]
        {
            let answer = from(&w, path, site, origin).send().await;
            assert_eq!(answer.status, 200, "{path} {site} {origin:?}: {}", answer.text());
        }
    }
    w.listen_answer("?queue=default").await;
    // Links from other sites may open pages, and every site may read probes.
    for path in ["/client.js", "/openapi.yaml", "/livez", "/readyz"] {
        assert_eq!(from(&w, path, "cross-site", None).send().await.status, 200, "{path}");
    }
    for page in ["/", "/console/", "/docs/", "/demo/"] {
        let link = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client")
            .get(format!("{}{page}", w.base()))
            .header("sec-fetch-site", "cross-site");
        assert_eq!(link.send().await.expect("an answer").status(), 200, "{page}");
    }
    let keyed = World::plan().own_process().with_keys(&[]).start().await;
    assert_eq!(from(&keyed, "/queues", "cross-site", None).send().await.status, 200, "a key allows cross-site reads");
    assert_eq!(json!({ "queues": [], "next": null }), keyed.get("/queues").await.is(200));
    w.check().await;
}
