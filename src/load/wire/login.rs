//! Logging in: the handshake and the two password plugins in use, as a state machine that is fed
//! whole packets and says what to send.

use mysql_common::constants::CapabilityFlags;
use mysql_common::crypto;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest,
};
use mysql_common::proto::MySerialize;

use super::answer::{failure, text};
use super::frame::{Packet, begin_packet, finish_packet};
use crate::lab::endpoint::Secret;
use crate::record::server_errors::ServerError;

const UTF8MB4_GENERAL_CI: u8 = 45;
/// Where the client's collation stands in a framed answer to the greeting, `HandshakeResponse41`
/// and `SSLRequest` alike: behind the frame's header, capabilities and longest packet.
const COLLATION_AT: usize = 4 + 4 + 4;
const MAX_PACKET_BYTES: u32 = 0x4000_0000;

const OK: u8 = 0x00;
const AUTH_MORE: u8 = 0x01;
const AUTH_SWITCH: u8 = 0xfe;
const ERR: u8 = 0xff;
const FAST_AUTH_OK: u8 = 0x03;
const FULL_AUTH: u8 = 0x04;
const PUBLIC_KEY_REQUEST: u8 = 0x02;

/// Who logs in, and where to.
#[derive(Debug, Clone)]
pub struct Account {
    pub user: String,
    pub password: Secret,
    /// May be empty: no current database.
    pub database: String,
    pub tls: bool,
    pub charset: Charset,
}

/// The character set that a session speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    Utf8mb4,
    /// The server's default, as its greeting tells it: the server converts nothing.
    OfServer,
}

/// What to do after a packet of the server.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Wait,
    Send(Vec<u8>),
    /// Send the first, begin TLS, send the second through it.
    StartTls(Vec<u8>, Vec<u8>),
    /// Logged in.
    Done {
        deprecate_eof: bool,
    },
    /// Refused, by the server or because it speaks otherwise.
    Refused(ServerError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    Proof,
    PublicKey,
}

/// One login.
#[derive(Debug)]
pub struct Login {
    stage: Stage,
    nonce: Vec<u8>,
    capabilities: CapabilityFlags,
    collation: u8,
}

impl Default for Login {
    fn default() -> Self {
        Login {
            stage: Stage::Greeting,
            nonce: Vec::new(),
            capabilities: CapabilityFlags::empty(),
            collation: UTF8MB4_GENERAL_CI,
        }
    }
}

impl Login {
    /// Takes the server's next packet.
    pub fn packet(&mut self, account: &Account, packet: Packet) -> Step {
        let reply = packet.sequence.wrapping_add(1);
        match packet.head.first() {
            None => refused("an empty packet during login"),
            Some(&ERR) => match failure(packet.head) {
                Some((failure, message)) => {
                    let (number, sqlstate) = (failure.number, failure.sqlstate());
                    Step::Refused(ServerError::one(number, sqlstate, text(message)))
                }
                None => refused("a broken error packet during login"),
            },
            Some(_) if self.stage == Stage::Greeting => self.greeting(account, packet, reply),
            Some(&OK) => Step::Done {
                deprecate_eof: self.has(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            },
            Some(&AUTH_SWITCH) => self.switch(account, packet.head, reply),
            Some(&AUTH_MORE) => self.more(account, &packet.head[1..], reply),
            Some(other) => refused(&format!("packet type {other:#04x} during login")),
        }
    }

    fn has(&self, flag: CapabilityFlags) -> bool {
        self.capabilities.contains(flag)
    }

    fn greeting(&mut self, account: &Account, packet: Packet, sequence: u8) -> Step {
        let Ok(greeting) = ParseBuf(packet.head).parse::<HandshakePacket>(()) else {
            return refused("an unreadable greeting");
        };
        self.nonce = greeting.nonce();
        self.capabilities = wanted(account) & greeting.capabilities();
        let plugin = greeting
            .auth_plugin()
            .unwrap_or(AuthPlugin::MysqlNativePassword);
        self.stage = Stage::Proof;
        if account.charset == Charset::OfServer {
            self.collation = greeting.default_collation();
        }
        if !account.tls {
            return Step::Send(self.response(account, plugin, sequence));
        }
        if !self.has(CapabilityFlags::CLIENT_SSL) {
            return refused("the server offers no TLS");
        }
        let request = SslRequest::new(self.capabilities, MAX_PACKET_BYTES, self.collation);
        let response = self.response(account, plugin, sequence.wrapping_add(1));
        Step::StartTls(framed(sequence, &request), response)
    }

    fn response(&self, account: &Account, plugin: AuthPlugin, sequence: u8) -> Vec<u8> {
        // A plugin that is not known here gets no proof; the server then switches.
        let proof = known(&plugin)
            .then(|| plugin.gen_data(Some(&account.password), &self.nonce))
            .flatten();
        let database = &account.database;
        let response = HandshakeResponse::new(
            Some(proof.as_deref().unwrap_or_default().to_vec()),
            (5, 5, 3),
            Some(account.user.as_bytes()),
            (!database.is_empty()).then_some(database.as_bytes()),
            self.has(CapabilityFlags::CLIENT_PLUGIN_AUTH)
                .then_some(plugin),
            self.capabilities,
            None,
            MAX_PACKET_BYTES,
        );
        let mut bytes = framed(sequence, &response);
        // The crate knows one collation only.
        bytes[COLLATION_AT] = self.collation;
        bytes
    }

    fn switch(&mut self, account: &Account, head: &[u8], sequence: u8) -> Step {
        let Ok(request) = ParseBuf(head).parse::<AuthSwitchRequest>(()) else {
            return refused("the server wants the password format of before MySQL 4.1");
        };
        let plugin = request.auth_plugin();
        if !known(&plugin) {
            let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
            return refused(&format!("the server wants authentication plugin {name}"));
        }
        self.nonce = request.plugin_data().to_vec();
        let proof = plugin.gen_data(Some(&account.password), &self.nonce);
        Step::Send(framed_bytes(sequence, proof.as_deref().unwrap_or_default()))
    }

    /// `caching_sha2_password` goes on.
    fn more(&mut self, account: &Account, data: &[u8], sequence: u8) -> Step {
        let password = [account.password.as_bytes(), &[0]].concat();
        match (self.stage, data) {
            (Stage::Proof, [FAST_AUTH_OK]) => Step::Wait,
            (Stage::Proof, [FULL_AUTH]) if account.tls => {
                Step::Send(framed_bytes(sequence, &password))
            }
            (Stage::Proof, [FULL_AUTH]) => {
                self.stage = Stage::PublicKey;
                Step::Send(framed_bytes(sequence, &[PUBLIC_KEY_REQUEST]))
            }
            (Stage::PublicKey, key) if key.starts_with(b"-----BEGIN") => {
                self.stage = Stage::Proof;
                let nonce = self.nonce.iter().cycle();
                let masked: Vec<u8> = password.iter().zip(nonce).map(|(p, n)| p ^ n).collect();
                Step::Send(framed_bytes(sequence, &crypto::encrypt(&masked, key)))
            }
            _ => refused("an unknown step of caching_sha2_password"),
        }
    }
}

fn known(plugin: &AuthPlugin) -> bool {
    matches!(
        plugin,
        AuthPlugin::CachingSha2Password | AuthPlugin::MysqlNativePassword
    )
}

fn wanted(account: &Account) -> CapabilityFlags {
    let mut flags = CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    flags.set(CapabilityFlags::CLIENT_SSL, account.tls);
    flags.set(
        CapabilityFlags::CLIENT_CONNECT_WITH_DB,
        !account.database.is_empty(),
    );
    flags
}

fn refused(text: &str) -> Step {
    Step::Refused(ServerError::lost(text))
}

fn framed(sequence: u8, payload: &impl MySerialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload.serialize(&mut bytes);
    framed_bytes(sequence, &bytes)
}

fn framed_bytes(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let start = begin_packet(&mut out);
    out.extend_from_slice(payload);
    finish_packet(&mut out, start, sequence);
    out
}

#[cfg(test)]
mod tests {
    use mysql_common::constants::StatusFlags;
    use mysql_common::scramble::{scramble_native, scramble_sha256};

    use super::*;
    use crate::record::server_errors::LOST_CONNECTION;

    /// Where the upper half of the capabilities stands in a greeting of version `9.9.9`: behind
    /// protocol, version, id, nonce, zero, lower half, collation and status.
    const UPPER_CAPABILITIES: usize = 1 + 6 + 4 + 8 + 1 + 2 + 1 + 2;
    const LATIN1_SWEDISH_CI: u8 = 8;
    const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";

    fn account(password: &str, tls: bool) -> Account {
        Account {
            user: "u".to_owned(),
            password: password.into(),
            database: "d".to_owned(),
            tls,
            charset: Charset::Utf8mb4,
        }
    }

    fn greeting(plugin: &str) -> Vec<u8> {
        let capabilities = wanted(&account("", true));
        let packet = HandshakePacket::new(
            10,
            &b"9.9.9"[..],
            1,
            *NONCE.first_chunk().unwrap(),
            Some([&NONCE[8..], &[0]].concat()),
            capabilities,
            LATIN1_SWEDISH_CI,
            StatusFlags::empty(),
            Some(plugin.as_bytes().to_vec()),
        );
        let mut bytes = Vec::new();
        packet.serialize(&mut bytes);
        bytes
    }

    fn feed(login: &mut Login, account: &Account, sequence: u8, head: &[u8]) -> Step {
        let length = head.len();
        login.packet(
            account,
            Packet {
                sequence,
                length,
                head,
            },
        )
    }

    fn proof_of(bytes: &[u8]) -> Vec<u8> {
        let response: HandshakeResponse = ParseBuf(&bytes[4..]).parse(()).unwrap();
        assert_eq!(
            (response.user(), response.db_name()),
            (&b"u"[..], Some(&b"d"[..]))
        );
        response.scramble_buf().to_vec()
    }

    #[test]
    fn each_plugin_sends_its_proof() {
        for (plugin, expected) in [
            (
                "caching_sha2_password",
                scramble_sha256(NONCE, b"pw").unwrap().to_vec(),
            ),
            (
                "mysql_native_password",
                scramble_native(NONCE, b"pw").unwrap().to_vec(),
            ),
            ("client_ed25519", Vec::new()),
        ] {
            let mut login = Login::default();
            let Step::Send(sent) = feed(&mut login, &account("pw", false), 0, &greeting(plugin))
            else {
                panic!("nothing sent for {plugin}");
            };
            assert_eq!((sent[3], proof_of(&sent)), (1, expected), "{plugin}");
        }
        let mut login = Login::default();
        let open = account("", false);
        let Step::Send(sent) = feed(&mut login, &open, 0, &greeting("caching_sha2_password"))
        else {
            panic!("nothing sent");
        };
        assert_eq!(proof_of(&sent), b"");
        let done = Step::Done {
            deprecate_eof: true,
        };
        assert_eq!(feed(&mut login, &open, 2, &[0, 0, 0, 2, 0, 0, 0]), done);
    }

    #[test]
    fn the_character_set_is_ours_or_the_servers() {
        for (charset, expected) in [
            (Charset::Utf8mb4, UTF8MB4_GENERAL_CI),
            (Charset::OfServer, LATIN1_SWEDISH_CI),
        ] {
            for tls in [false, true] {
                let account = Account {
                    charset,
                    ..account("pw", tls)
                };
                let packet = greeting("mysql_native_password");
                let sent = match feed(&mut Login::default(), &account, 0, &packet) {
                    Step::Send(response) => vec![response],
                    Step::StartTls(request, response) => vec![request, response],
                    other => panic!("{other:?}"),
                };
                assert_eq!(sent.len(), 1 + usize::from(tls));
                let response: HandshakeResponse =
                    ParseBuf(&sent.last().unwrap()[4..]).parse(()).unwrap();
                assert_eq!(response.collation(), expected);
                let told: Vec<u8> = sent.iter().map(|bytes| bytes[COLLATION_AT]).collect();
                assert!(told.iter().all(|own| *own == expected), "{told:?}");
            }
        }
    }

    /// MySQL 5.5.9 leaves out the zero behind the plugin's name, knows no end of EOF packets; one
    /// before it names no plugin at all.
    #[test]
    fn old_greetings_are_answered() {
        let account = account("pw", false);
        let mut unended = greeting("mysql_native_password");
        assert_eq!(
            unended.pop(),
            Some(0),
            "the name of the plugin ends the greeting"
        );
        unended[UPPER_CAPABILITIES + 1] &= !0x01;
        let mut nameless = unended[..unended.len() - "mysql_native_password".len()].to_vec();
        nameless[UPPER_CAPABILITIES] &= !0x08;
        for old in [unended, nameless] {
            let mut login = Login::default();
            let Step::Send(sent) = feed(&mut login, &account, 0, &old) else {
                panic!("nothing sent");
            };
            assert_eq!(proof_of(&sent), scramble_native(NONCE, b"pw").unwrap());
            let done = Step::Done {
                deprecate_eof: false,
            };
            assert_eq!(feed(&mut login, &account, 2, &[0, 0, 0, 2, 0, 0, 0]), done);
        }
    }

    #[test]
    fn full_authentication_asks_for_the_key_or_uses_tls() {
        let plain = account("pw", false);
        let mut login = Login::default();
        feed(&mut login, &plain, 0, &greeting("caching_sha2_password"));
        assert_eq!(feed(&mut login, &plain, 2, &[1, 3]), Step::Wait);
        let asked = Step::Send(vec![1, 0, 0, 3, 2]);
        assert_eq!(feed(&mut login, &plain, 2, &[1, 4]), asked);

        let tls = account("pw", true);
        let mut login = Login::default();
        let step = feed(&mut login, &tls, 0, &greeting("caching_sha2_password"));
        let Step::StartTls(request, response) = step else {
            panic!("no TLS: {step:?}");
        };
        assert_eq!((request.len(), request[3], response[3]), (36, 1, 2));
        let clear = Step::Send(vec![3, 0, 0, 4, b'p', b'w', 0]);
        assert_eq!(feed(&mut login, &tls, 3, &[1, 4]), clear);
    }

    #[test]
    fn the_server_may_switch_the_plugin() {
        let account = account("pw", false);
        let mut login = Login::default();
        feed(&mut login, &account, 0, &greeting("caching_sha2_password"));
        let other = b"TSRQPONMLKJIHGFEDCBA";
        let request = [&b"\xfemysql_native_password\0"[..], other, &[0]].concat();
        let proof = scramble_native(other, b"pw").unwrap();
        let expected = Step::Send(framed_bytes(3, &proof));
        assert_eq!(feed(&mut login, &account, 2, &request), expected);
        let unknown = b"\xfeauth_gssapi\0x\0";
        let Step::Refused(error) = feed(&mut login, &account, 2, unknown) else {
            panic!("an unknown plugin was taken");
        };
        assert_eq!(error.number, LOST_CONNECTION);
        assert!(error.message.contains("auth_gssapi"), "{error}");
    }

    #[test]
    fn refusals_carry_the_servers_words() {
        let account = account("pw", false);
        let step = feed(
            &mut Login::default(),
            &account,
            0,
            b"\xff\x10\x04#08004Too many connections",
        );
        let error = ServerError::one(1040, "08004", "Too many connections".to_owned());
        assert_eq!(step, Step::Refused(error));
        for garbage in [&[][..], &[10, 1, 2], &[7; 80]] {
            let step = feed(&mut Login::default(), &account, 0, garbage);
            let is_ours = |error: &ServerError| error.number == LOST_CONNECTION;
            assert!(matches!(&step, Step::Refused(e) if is_ours(e)), "{step:?}");
        }
    }
}
