//! The load driver against a server that is running already: its address in ACKLAB_TEST_MYSQL,
//! root without a password.

#[path = "common/load_checks.rs"]
mod load_checks;

use load_checks::*;

fn server() -> Server {
    let address = std::env::var("ACKLAB_TEST_MYSQL").expect("ACKLAB_TEST_MYSQL=address:port");
    Server {
        address: address.parse().expect("address:port"),
        user: "root".to_owned(),
        password: String::new(),
    }
}

/// One test: the checks share the server and its counters.
#[test]
#[ignore = "wants a running server in ACKLAB_TEST_MYSQL"]
fn lab_load_driver_does_what_it_says() {
    let server = server();
    let only = std::env::var("ACKLAB_TEST_ONLY").unwrap_or_default();
    let plugins = std::env::var("ACKLAB_TEST_PLUGINS").unwrap_or_default();
    let plugins: Vec<&str> = plugins.split(',').filter(|name| !name.is_empty()).collect();
    let checks: [(&str, &dyn Fn()); 9] = [
        ("sysbench", &|| sysbench_loads_run(&server)),
        ("counts", &|| statements_are_sysbenchs(&server)),
        ("mysqlslap", &|| mysqlslap_loads_run(&server)),
        ("custom", &|| custom_transactions_run(&server)),
        ("errors", &|| errors_are_counted(&server)),
        ("killed", &|| killed_connections_come_back(&server)),
        ("accounts", &|| {
            accounts_log_in(&server, &plugins, plugins == ["caching_sha2_password"])
        }),
        ("refusals", &|| refusals_name_their_reason(&server)),
        ("thousands", &|| two_thousand_sessions_work(&server)),
    ];
    for (name, check) in checks {
        if name.contains(&only) {
            let begin = std::time::Instant::now();
            check();
            eprintln!("{name}: {:.1?}", begin.elapsed());
        }
    }
}
