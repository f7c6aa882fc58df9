//! The life of the handler process.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
    time::Duration,
};

use functions_test_host::{FunctionsHost, HandlerDown, Knobs, LogLevel, LogSource};
use serde_json::json;

use crate::support::{App, ECHO, Seen, behave, catch_all, ended, get, http_function, logged, printed};

fn impatient() -> Knobs {
    Knobs {
        initialization_timeout: Some(Duration::from_millis(300)),
        ready_wait: Some(Duration::from_millis(600)),
        ..Knobs::default()
    }
}

#[tokio::test]
async fn the_handler_gets_the_five_variables_and_the_app_settings() {
    let app = catch_all();
    let root = app.path().to_owned();
    let host = app.start_with(|host| host.env("ECHO_SETTING", "on")).await;
    let seen = Seen::from(get(host.base_url()).await).await;
    let handler = host.handler_url(0).unwrap();
    let port = handler.rsplit(':').next().unwrap();
    assert_eq!(seen.variable("FUNCTIONS_CUSTOMHANDLER_PORT"), port);
    assert_eq!(seen.variable("FUNCTIONS_HTTPWORKER_PORT"), port);
    assert_eq!(seen.variable("FUNCTIONS_HTTPWORKER_ID"), seen.variable("FUNCTIONS_CUSTOMHANDLER_WORKER_ID"));
    assert_eq!(seen.variable("FUNCTIONS_CUSTOMHANDLER_WORKER_ID").len(), 36);
    assert_eq!(seen.variable("FUNCTIONS_APP_ROOT_PATH"), root.to_str().unwrap());
    assert_eq!(seen.variable("ECHO_SETTING"), "on");
}

#[tokio::test]
async fn a_new_start_has_a_new_worker_id_on_the_same_port() {
    let host = catch_all().start().await;
    let first = Seen::from(get(host.base_url()).await).await;
    host.kill_handler(0).await;
    let second = Seen::from(get(host.base_url()).await).await;
    assert_ne!(first.0["pid"], second.0["pid"]);
    let id = "FUNCTIONS_CUSTOMHANDLER_WORKER_ID";
    assert_ne!(first.variable(id), second.variable(id));
    let port = "FUNCTIONS_CUSTOMHANDLER_PORT";
    assert_eq!(first.variable(port), second.variable(port));
}

#[tokio::test]
async fn arguments_are_joined_expanded_and_split_again() {
    let app = App::with_arguments(&["--name", "two words", "\"one piece\"", "%ECHO_WORD%", "x%NO_SUCH%y"]);
    let host = app.start_with(|host| host.env("ECHO_WORD", "expanded")).await;
    let seen = Seen::from(get(host.base_url()).await).await;
    assert_eq!(seen.0["arguments"], json!(["--name", "two", "words", "one piece", "expanded", "xy"]));
}

#[tokio::test]
async fn the_port_can_be_an_argument() {
    let app = App::with_arguments(&["--port=%FUNCTIONS_CUSTOMHANDLER_PORT%"]);
    let host = app.start().await;
    let seen = Seen::from(get(host.base_url()).await).await;
    assert_eq!(seen.0["arguments"][0], format!("--port={}", seen.variable("FUNCTIONS_CUSTOMHANDLER_PORT")));
}

#[tokio::test]
async fn the_executable_is_found_under_the_worker_directory_and_runs_in_the_working_directory() {
    let app = App::new(json!({"description": {
        "defaultExecutablePath": "echo",
        "workerDirectory": "bin",
        "workingDirectory": "work",
    }}))
    .http("all", "{*rest}", "anonymous");
    fs::create_dir(app.path().join("bin")).unwrap();
    fs::create_dir(app.path().join("work")).unwrap();
    symlink(ECHO, app.path().join("bin/echo")).unwrap();
    let host = FunctionsHost::builder(app.path()).without_inherited_env().start().await.unwrap();
    let seen = Seen::from(get(host.base_url()).await).await;
    let expected = app.path().join("work").canonicalize().unwrap();
    assert_eq!(seen.text("directory"), expected.to_str().unwrap());
}

#[tokio::test]
async fn requests_wait_for_a_slow_handler() {
    let host = App::with_arguments(&["--delay", "300"]).launch(|host| host).await;
    assert_eq!(host.ready_after(0), None);
    let seen = Seen::from(get(host.base_url()).await).await;
    assert_eq!(seen.text("method"), "GET");
    assert!(host.ready_after(0).unwrap() >= Duration::from_millis(300));
}

#[tokio::test]
async fn any_status_is_ready_and_the_probe_is_bare() {
    let host = App::with_arguments(&["--refuse-first"]).start().await;
    let request = printed(&host, "first ").await.text;
    assert!(request.starts_with("first GET / "), "{request}");
    for header in ["x-azure-functions", "user-agent", "x-ms-invocation-id"] {
        assert!(!request.contains(header), "{request}");
    }
    assert_eq!(host.starts(0), 1);
    assert_eq!(get(host.base_url()).await.status(), 200);
}

#[tokio::test]
async fn exit_code_0_is_final() {
    let host = catch_all().start().await;
    behave(host.base_url(), "exit:0").send().await.unwrap();
    logged(&host, |line| line.text.contains("exited with code 0")).await;
    let response = get(host.base_url()).await;
    assert_eq!((response.status().as_u16(), host.starts(0)), (500, 1));
    assert_eq!(response.text().await.unwrap(), "");
    assert_eq!(host.handler_pid(0), None);
}

#[tokio::test]
async fn exit_code_200_restarts_without_counting() {
    let host = App::new(json!({"enableProxyingHttpRequest": false, "enableForwardingHttpRequest": true}))
        .http("all", "{*rest}", "anonymous")
        .start()
        .await;
    for start in 2..=6 {
        assert_eq!(behave(host.base_url(), "exit:200").send().await.unwrap().status(), 500);
        host.wait_started(0, start).await;
        host.ready().await.unwrap();
    }
    assert_eq!(host.stopped(0), None);
}

#[tokio::test]
async fn the_third_failure_stops_the_host() {
    let host = App::with_arguments(&["--stderr", "no-luck", "--exit", "7"]).launch(|host| host).await;
    let reason = host.wait_stopped(0).await.unwrap();
    assert!(reason.contains("exited with code 7"), "{reason}");
    assert!(reason.contains("no-luck"), "the reason quotes standard error: {reason}");
    assert_eq!(host.starts(0), 3);
    let response = get(host.base_url()).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.text().await.unwrap(), "Function host is not running.");
    assert!(matches!(host.ready().await, Err(HandlerDown::Stopped { copy: 0, .. })));
}

#[tokio::test]
async fn a_kill_counts_as_a_failure() {
    let host = catch_all().start().await;
    for _ in 0..2 {
        host.kill_handler(0).await;
        host.ready().await.unwrap();
    }
    host.kill_handler(0).await;
    assert!(host.wait_stopped(0).await.unwrap().contains("code 137"));
}

#[tokio::test]
async fn a_handler_that_never_listens_fails_by_timeout() {
    let host = App::with_arguments(&["--never-listen"]).launch(|host| host.knobs(impatient())).await;
    let reason = host.wait_stopped(0).await.unwrap();
    assert!(reason.contains("did not answer in time"), "{reason}");
    assert_eq!(host.starts(0), 3);
}

#[tokio::test]
async fn a_handler_that_accepts_and_stays_silent_blocks_the_first_request_which_stops_the_host() {
    let knobs = Knobs { ready_wait: Some(Duration::from_millis(600)), ..Knobs::default() };
    let host = App::with_arguments(&["--silent"]).launch(|host| host.knobs(knobs)).await;
    assert_eq!(get(host.base_url()).await.status(), 500);
    host.wait_stopped(0).await.unwrap();
    assert_eq!(host.starts(0), 1, "silence is no failure of its own");
}

#[tokio::test]
async fn a_spawn_failure_is_neither_retried_nor_counted_and_the_first_request_stops_the_host() {
    let app = catch_all();
    let no_exec_bit = app.path().join("handler");
    fs::write(&no_exec_bit, "#!/bin/sh\n").unwrap();
    let not_a_program = app.path().join("garbage");
    fs::write(&not_a_program, [0x7f, b'E', b'L', b'F', 0]).unwrap();
    fs::set_permissions(&not_a_program, fs::Permissions::from_mode(0o755)).unwrap();
    for executable in ["no-such-program".into(), no_exec_bit, not_a_program] {
        let host = app.host().executable_override(&executable).knobs(impatient()).start().await.unwrap();
        logged(&host, |line| line.level == LogLevel::Error && line.text.contains("failed to start")).await;
        assert!(matches!(host.ready().await, Err(HandlerDown::TimedOut(0))), "{executable:?}");
        assert_eq!((host.starts(0), host.stopped(0)), (0, None), "{executable:?}");
        assert_eq!(get(host.base_url()).await.status(), 500, "{executable:?}");
        host.wait_stopped(0).await.unwrap();
        assert_eq!(get(host.base_url()).await.status(), 503, "{executable:?}");
    }
}

#[tokio::test]
async fn a_lost_execute_bit_is_put_back_on_plans_that_do_so() {
    let app = catch_all();
    let copy = app.path().join("handler");
    // By another process: a file that this one has open for writing while it starts a handler cannot be executed.
    assert!(Command::new("cp").args([Path::new(ECHO), &copy]).status().unwrap().success());
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o644)).unwrap();
    let knobs = Knobs { make_executable: true, ..Knobs::default() };
    let host = app.host().executable_override("handler").knobs(knobs).start().await.unwrap();
    assert_eq!(get(host.base_url()).await.status(), 200);
}

#[tokio::test]
async fn without_functions_no_handler_starts() {
    let app = App::new(json!({}));
    let host = app.launch(|host| host).await;
    assert_eq!(get(host.base_url()).await.status(), 200, "the homepage needs no handler");
    assert_eq!(host.starts(0), 0);
    assert!(matches!(host.ready().await, Err(HandlerDown::NoFunctions)));
}

#[tokio::test]
async fn without_a_function_timeout_the_handler_is_probed_all_the_same() {
    let host = catch_all().start_with(|host| host.env("AzureFunctionsJobHost__functionTimeout", "-1")).await;
    assert_eq!(get(host.base_url()).await.status(), 200);
}

#[tokio::test]
async fn a_fixed_port_is_the_handlers_port_start_after_start() {
    let reserved = tokio::net::TcpSocket::new_v4().unwrap();
    reserved.set_reuseaddr(true).unwrap();
    reserved.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = reserved.local_addr().unwrap().port();
    let app = App::new(json!({ "port": port.to_string() })).http("all", "{*rest}", "anonymous");
    let host = app.start().await;
    for _ in 0..2 {
        let seen = Seen::from(get(host.base_url()).await).await;
        assert_eq!(seen.variable("FUNCTIONS_CUSTOMHANDLER_PORT"), port.to_string());
        host.kill_handler(0).await;
    }
}

#[tokio::test]
async fn output_is_captured_by_line_and_classified() {
    let host = App::with_arguments(&["--stderr", "\"a Warning sign\""]).start().await;
    let warning = logged(&host, |line| line.source == LogSource::Stderr).await;
    assert_eq!((warning.text.as_str(), warning.level), ("a Warning sign", LogLevel::Warning));
    let line = printed(&host, "arguments").await;
    assert_eq!((line.copy, line.level), (0, LogLevel::Information));
    behave(host.base_url(), "print:hello").send().await.unwrap();
    printed(&host, "hello").await;
}

#[tokio::test]
async fn stopping_kills_the_handler() {
    let host = catch_all().start().await;
    let process = format!("/proc/{}", host.handler_pid(0).unwrap());
    assert!(fs::exists(&process).unwrap());
    host.host.stop().await;
    assert!(!fs::exists(&process).unwrap());
}

#[tokio::test]
async fn dropping_kills_the_handler_and_what_it_started() {
    let host = catch_all().start().await;
    let child = behave(host.base_url(), "spawn").send().await.unwrap().text().await.unwrap();
    let handler = host.handler_pid(0).unwrap();
    drop(host);
    ended(handler).await;
    ended(child.parse().unwrap()).await;
}

#[tokio::test]
async fn a_handler_that_dies_takes_what_it_started_with_it() {
    let host = catch_all().start().await;
    let child = behave(host.base_url(), "spawn").send().await.unwrap().text().await.unwrap();
    behave(host.base_url(), "exit:0").send().await.unwrap();
    ended(child.parse().unwrap()).await;
}

#[tokio::test]
async fn a_function_timeout_kills_the_handler_and_everything_in_it() {
    let knobs = Knobs { function_timeout: Some(Duration::from_secs(1)), strike_limit: 1, ..Knobs::default() };
    let app = App::envelope().function("f", &http_function(&json!({"authLevel": "anonymous"})));
    let app = app.http("all", "other/{*rest}", "anonymous");
    let host = app
        .start_with(|host| {
            host.env("AzureFunctionsJobHost__customHandler__enableProxyingHttpRequest", "true").knobs(knobs)
        })
        .await;
    let url = format!("{}/api/f", host.base_url());
    for round in 2..=3 {
        assert_eq!(behave(&url, "hang").send().await.unwrap().status(), 500);
        assert_eq!(get(&url).await.status(), 200, "a new handler answers");
        assert_eq!(host.starts(0), round);
    }
    assert_eq!(host.stopped(0), None, "a timeout is no strike");
}
