//! The server that says what it is told, as a real client hears it.

use redis::{AsyncConnectionConfig, Client, Value};
use tidegate_test::proxy::{Canned, plausible};

async fn connection(url: String) -> redis::aio::MultiplexedConnection {
    let config = AsyncConnectionConfig::new();
    let client = Client::open(url).unwrap();
    client.get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

fn eval() -> redis::Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg("0".repeat(40)).arg(0);
    command
}

#[tokio::test]
async fn each_script_gets_the_next_reply_over_both_protocols() {
    for protocol in ["", "?protocol=resp3"] {
        let replies = [&b":7\r\n"[..], b"-BUSY wait\r\n", b"*2\r\n:1\r\n$-1\r\n"];
        let canned = Canned::scripts(replies.map(<[u8]>::to_vec)).await;
        let mut connection = connection(format!("{}{protocol}", canned.url())).await;
        let first: Value = eval().query_async(&mut connection).await.unwrap();
        assert_eq!(first, Value::Int(7));
        let second = eval().query_async::<Value>(&mut connection).await.unwrap_err();
        assert_eq!(second.code(), Some("BUSY"));
        let third: Value = eval().query_async(&mut connection).await.unwrap();
        assert_eq!(third, Value::Array(vec![Value::Int(1), Value::Nil]));
        let beyond = eval().query_async::<Value>(&mut connection).await.unwrap_err();
        assert!(beyond.to_string().contains("no canned reply is left"), "{beyond}");
        let asked = canned.record().iter().filter(|command| command[0] == "EVALSHA").count();
        assert_eq!(asked, 4);
    }
}

#[tokio::test]
async fn a_healthy_server_is_imitated_for_what_clients_ask_first() {
    let canned = Canned::start(plausible).await;
    let mut connection = connection(canned.url()).await;
    let pong: String = redis::cmd("PING").query_async(&mut connection).await.unwrap();
    let info: String = redis::cmd("INFO").query_async(&mut connection).await.unwrap();
    let role: (String, i64, Vec<Value>) =
        redis::cmd("ROLE").query_async(&mut connection).await.unwrap();
    assert_eq!((pong.as_str(), role.0.as_str()), ("PONG", "master"));
    assert!(info.contains("run_id:"), "{info}");
}
