use super::*;

#[test]
fn sentinels_are_named_with_the_primary_that_they_know() {
    let serve_at = |url: &str| serve(&format!("--redis-url {url}"));
    let RedisUrl::Sentinels(url) =
        serve_at("rediss+sentinel://u:hunter2@h:1,[::1]:2,i/my-primary?db=3").store.redis_url()
    else {
        panic!("sentinels")
    };
    assert_eq!(url.sentinels, [("h".to_owned(), 1), ("::1".to_owned(), 2), ("i".to_owned(), 26_379)]);
    assert_eq!(
        (url.name.as_str(), url.db, url.is_tls, url.credentials.as_str()),
        ("my-primary", 3, true, "u:hunter2@")
    );
    assert_eq!(url.to_string(), "rediss+sentinel://h:1,[::1]:2,i:26379/my-primary");
    for wrong in ["h:1", "h:1/", "/name", "h:1,/name", "h:x/name", "h:1/a/b", "h:1/name?db=x", "u:hunter2@h:1"] {
        let message = refusal(&format!("--redis-url redis+sentinel://{wrong}"));
        assert!(message.contains("must be redis+sentinel://") && !message.contains("hunter2"), "{wrong}: {message}");
    }
    let path = file("sentinel", "hunter2\n");
    let flags = format!("--sentinel-user me --sentinel-password-file {} --sentinel-map a:1=b:2", path.display());
    let serve = serve_at(&format!("redis+sentinel://h/n {flags}"));
    assert!(!format!("{serve:?}").contains("hunter2"));
    let access = serve.store.sentinel().expect("for sentinels");
    assert_eq!((access.user.as_deref(), access.password.as_deref()), (Some("me"), Some("hunter2")));
    assert_eq!(access.map, ["a:1=b:2".parse().expect("two places")]);
    assert!(serve_at(&format!("redis://h {flags}")).store.sentinel().is_err());
    assert!(refusal("--sentinel-map a=b:2").contains("host:port=host:port"));
    fs::remove_file(path).expect("our file");
}
