//! Every transition in both of its forms, as Redis takes them.

use super::*;

#[tokio::test]
async fn every_script_loads_as_function_and_script() {
    let redis = Redis::start().await;
    let (link, scripts) = (&redis.queues.parts.runner.link, &redis.queues.parts.runner.scripts);
    for script in scripts.all() {
        let forms = [
            ("FCALL", &script.function),
            ("EVAL", &script.standalone().text.code),
            ("EVALSHA", &script.standalone().sha),
        ];
        for (form, what) in forms {
            let mut call = redis::cmd(form);
            call.arg(what).arg(script.keys.len()).arg(vec!["t:trial"; script.keys.len()]);
            // Without arguments some know no better than to fail, but not for want of anything that they require.
            let answer = format!("{:?}", link.plain(&call).await);
            for complaint in ["not found", "NOSCRIPT", "ompiling", "nonexistent", "a nil value (global", "upvalue"] {
                assert!(!answer.contains(complaint), "{form} {}: {answer}", script.function);
            }
        }
    }
}

#[tokio::test]
async fn script_fault_names_the_lua_file_and_line() {
    let redis = Redis::start().await;
    for is_library in [true, false] {
        redis.queues.parts.runner.link.use_library(is_library);
        let fault = redis.queues.run_view("cancel", &queue(), &Args::default()).await.expect_err("no id").to_string();
        assert!(fault.contains("lua/") && fault.contains(".lua:") && !fault.contains("user_"), "{fault}");
    }
}
