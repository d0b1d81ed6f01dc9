use super::*;

#[test]
fn strangers_are_kept_out_unless_the_operator_says_otherwise() {
    for line in
        ["", "--listen localhost:1", "--listen 127.9.9.9:1", "--listen [::1]:1", "--listen 0.0.0.0:1 --insecure"]
    {
        assert_eq!(serve(line).exposure(), Ok(()), "{line}");
    }
    assert!(
        serve("--cors-origin https://a.example").exposure().is_ok()
            && serve("--cors-origin * --insecure").exposure().is_ok()
    );
    for line in
        ["--cors-origin *", "--listen 0.0.0.0:1", "--listen [::]:1", "--listen 10.0.0.1:1", "--listen desk.example:1"]
    {
        let message = serve(line).exposure().expect_err(line);
        assert!(message.contains("--insecure") && !message.contains('\n'), "{message}");
    }
}
