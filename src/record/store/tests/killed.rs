//! Writers that are killed or at work, and readers beside them.

use super::*;

const CHILD_PATH: &str = "ACKLAB_TEST_STORE_PATH";

/// Not a test: the child of the next one. It appends until it is killed.
#[test]
fn child_that_appends() {
    let Ok(path) = std::env::var(CHILD_PATH) else {
        return;
    };
    let mut store = Store::create(Path::new(&path), &header()).unwrap();
    for round in 0.. {
        store.append(&measurement(round, 0)).unwrap();
        println!("\nkept {}", round + 1);
    }
}

/// Kills a child that appends at a random moment, after its first word if `is_started`; gives how
/// many measurements it said it had kept.
fn append_and_kill(path: &Path, is_started: bool, let_live: Duration) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "record::store::tests::killed::child_that_appends",
            "--nocapture",
        ])
        .env(CHILD_PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut kept =
        lines.filter_map(|line| line.unwrap().strip_prefix("kept ")?.parse::<usize>().ok());
    let first = if is_started { kept.next().unwrap() } else { 0 };
    // The random moment is what is tested; nothing is waited for.
    std::thread::sleep(let_live);
    child.kill().unwrap();
    child.wait().unwrap();
    kept.last().unwrap_or(first)
}

#[test]
fn a_kill_at_any_moment_leaves_whole_measurements_or_nothing() {
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let folder = tempfile::tempdir().unwrap();
    let (mut without, mut with, mut cut_off) = (0, 0, 0);
    for trial in 0..40 {
        let path = folder.path().join(trial.to_string());
        // Half of the kills fall into the start, where the file appears.
        let is_started = trial % 2 == 0;
        let let_live = Duration::from_micros(random.random_range(0..20_000));
        let kept = append_and_kill(&path, is_started, let_live);
        if !path.exists() {
            assert_eq!(kept, 0, "trial {trial}");
            without += 1;
            continue;
        }
        with += 1;
        cut_off += usize::from(folder.path().join(format!("{trial}-journal")).exists());
        let record = Record::open(&path).unwrap();
        let found = record.measurements.len();
        assert!(
            found == kept || found == kept + 1,
            "trial {trial}: {kept} {found}"
        );
        for (round, got) in record.measurements.iter().enumerate() {
            assert_eq!(got, &measurement(round as u32, 0));
        }
        assert!(!record.finished);
    }
    println!("killed before the record appeared {without}, after {with}, amid a write {cut_off}");
    assert!(with >= 20, "a record that was there is gone: {with}");
}

#[test]
fn what_a_killed_writer_left_goes_with_the_first_reading() {
    // Cut off before a byte was written, and before the header that is written last.
    for left in [vec![], vec![0; 512]] {
        let (folder, path, mut store) = created();
        store.append(&measurement(0, 0)).unwrap();
        drop(store);
        std::fs::write(journal_of(&path), left).unwrap();
        assert_eq!(Record::open(&path).unwrap().measurements.len(), 1);
        let names = std::fs::read_dir(folder.path()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names, [path]);
    }
}

/// Of another database it is nobody's business here.
#[test]
fn a_journal_of_what_is_no_record_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE other (id)").unwrap();
    drop(connection);
    std::fs::write(journal_of(&path), [0; 512]).unwrap();
    assert!(given(Record::open(&path).unwrap_err()).contains("another SQLite database"));
    assert!(journal_of(&path).exists());
}

const READ_PATH: &str = "ACKLAB_TEST_STORE_READ";

/// Reads the given record where it is asked to, in a process of its own: locks are a process's.
#[test]
fn child_that_reads() {
    let Some(path) = std::env::var_os(READ_PATH) else {
        return;
    };
    let record = Record::open(Path::new(&path)).unwrap();
    println!("\nread {}", record.measurements.len());
}

fn read_by_another(path: &Path) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let words = [
        "--exact",
        "record::store::tests::killed::child_that_reads",
        "--nocapture",
    ];
    let output = child.args(words).env(READ_PATH, path).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let read = told.lines().find_map(|line| line.strip_prefix("read "));
    read.unwrap_or_else(|| panic!("{told}")).to_owned()
}

#[test]
fn nothing_is_taken_from_a_writer_at_work() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    let body = body_of(&measurement(1, 0)).unwrap();
    let transaction = store.connection.transaction().unwrap();
    insert(&transaction, "INSERT", &measurement(1, 0), &body).unwrap();
    assert!(journal_of(&path).exists());
    assert_eq!(read_by_another(&path), "1");
    assert!(journal_of(&path).exists());
    transaction.commit().unwrap();
    assert!(!journal_of(&path).exists());
    assert_eq!(read_by_another(&path), "2");
}
