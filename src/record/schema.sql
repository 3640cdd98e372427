-- Schema of an acklab record, version 6. docs/record.md explains it and has queries to try.
-- Three tables hold all there is, each row with one JSON document; every other column and every view
-- is computed from that document, so nothing can disagree with it. In one table each row has a part
-- besides that SQL cannot read.

CREATE TABLE run (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  finished_unix_ms INTEGER,
  header TEXT NOT NULL CHECK (json_valid(header)),
  study TEXT AS (json_extract(header, '$.study.name')),
  title TEXT AS (json_extract(header, '$.study.title')),
  seed INTEGER AS (json_extract(header, '$.study.seed')),
  rounds INTEGER AS (json_extract(header, '$.study.rounds')),
  warmup_ms REAL AS (json_extract(header, '$.study.warmup.secs') * 1e3
                     + json_extract(header, '$.study.warmup.nanos') / 1e6),
  measure_ms REAL AS (json_extract(header, '$.study.measure.secs') * 1e3
                      + json_extract(header, '$.study.measure.nanos') / 1e6),
  study_text TEXT AS (json_extract(header, '$.study_text')),
  command_line TEXT AS (json_extract(header, '$.command_line')),
  started_unix_ms INTEGER AS (json_extract(header, '$.started_unix_ms')),
  acklab_version TEXT AS (json_extract(header, '$.acklab_version')),
  kernel TEXT AS (json_extract(header, '$.host.kernel')),
  cpu_model TEXT AS (json_extract(header, '$.host.cpu_model')),
  cpus INTEGER AS (json_extract(header, '$.host.cpus')),
  memory_bytes INTEGER AS (json_extract(header, '$.host.memory_bytes')),
  fsync_us_p50 REAL AS (json_extract(header, '$.host.fsync_us_p50')),
  link_floor_us_p50 REAL AS (json_extract(header, '$.host.link_floor_us_p50')),
  file_system TEXT AS (json_extract(header, '$.file_system'))
);

-- The latency columns are read from the histogram in the body, which SQL cannot do.
CREATE TABLE measurement (
  round INTEGER NOT NULL,
  cell INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  latency_us_p50 INTEGER,
  latency_us_p95 INTEGER,
  latency_us_p99 INTEGER,
  latency_us_max INTEGER,
  body TEXT NOT NULL CHECK (json_valid(body)),
  started_unix_ms INTEGER AS (json_extract(body, '$.started_unix_ms')),
  window_s REAL AS (json_extract(body, '$.window_s')),
  commits INTEGER AS (json_extract(body, '$.commits')),
  unchanged INTEGER AS (json_extract(body, '$.unchanged')),
  statements INTEGER AS (json_extract(body, '$.statements')),
  commits_per_s REAL AS (json_extract(body, '$.commits') / json_extract(body, '$.window_s')),
  cpu_us_writer REAL AS (json_extract(body, '$.cpu.writer_us')),
  cpu_us_client REAL AS (json_extract(body, '$.cpu.client_us')),
  cpu_us_front REAL AS (json_extract(body, '$.cpu.front_us')),
  cpu_us_links REAL AS (json_extract(body, '$.cpu.links_us')),
  cpu_us_links_spin REAL AS (json_extract(body, '$.cpu.links_spin_us')),
  host_busy_share REAL AS (json_extract(body, '$.host_busy')),
  host_stolen_share REAL AS (json_extract(body, '$.host_stolen')),
  flags TEXT AS (json_extract(body, '$.flags')),
  PRIMARY KEY (round, cell, turn)
);

-- Faults: a row for each trial, written as it ends. What is long in it stands in
-- `packed`: every transfer, every look of a reader, all rows that were read back.
CREATE TABLE fault_trial (
  mode INTEGER NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  packed BLOB NOT NULL,
  fault TEXT AS (json_extract(body, '$.fault.name')),
  flush_log INTEGER AS (json_extract(body, '$.durability.flush_log')),
  sync_binlog INTEGER AS (json_extract(body, '$.durability.sync_binlog')),
  started_unix_ms INTEGER AS (json_extract(body, '$.trials[0].started_unix_ms')),
  seed INTEGER AS (json_extract(body, '$.trials[0].seed')),
  undecided TEXT AS (json_extract(body, '$.trials[0].undecided')),
  refused TEXT AS (json_extract(body, '$.trials[0].refused')),
  UNIQUE (mode, fault, number)
);

CREATE VIEW fault_step AS
SELECT mode, fault, number,
       json_extract(s.value, '$.step') + 1 AS step,
       json_extract(s.value, '$.begun_us') AS begun_us,
       json_extract(s.value, '$.ended_us') AS ended_us,
       json_extract(s.value, '$.nodes') AS nodes,
       json_extract(s.value, '$.bite') AS bite,
       json_extract(s.value, '$.seen') AS seen,
       json_extract(s.value, '$.dropped_writes') AS dropped_writes
FROM fault_trial, json_each(body, '$.trials[0].steps') s;

CREATE VIEW cell AS
SELECT c.key AS cell,
       json_extract(c.value, '$.id') AS id,
       json_extract(c.value, '$.mode') AS mode_index,
       json_extract(m.value, '$.label') AS label,
       json_extract(m.value, '$.server') AS server,
       json_extract(m.value, '$.mode.mode') AS mode,
       json_extract(m.value, '$.baseline') AS baseline,
       json_extract(c.value, '$.workload.tool') AS tool,
       coalesce(json_extract(c.value, '$.workload.load'),
                json_extract(c.value, '$.workload.name')) AS workload,
       json_extract(c.value, '$.connections') AS connections,
       json_extract(c.value, '$.rate_per_s') AS rate_per_s,
       json_extract(c.value, '$.pace') AS pace,
       json_extract(c.value, '$.apply') AS apply,
       json_extract(c.value, '$.cpu_speed') AS cpu_speed,
       json_extract(c.value, '$.schemas') AS schemas,
       json_extract(c.value, '$.moved.thing') AS moved,
       json_extract(c.value, '$.distances.label') AS distances,
       json_extract(c.value, '$.disks.label') AS disks,
       json_extract(c.value, '$.client_site') AS client_site
FROM run, json_each(run.header, '$.cells') c, json_each(run.header, '$.study.modes') m
WHERE m.key = json_extract(c.value, '$.mode');

CREATE VIEW server AS
SELECT json_extract(s.value, '$.name') AS name,
       json_extract(s.value, '$.version') AS version,
       json_extract(s.value, '$.source') AS source
FROM run, json_each(run.header, '$.servers') s;

CREATE VIEW lab AS
SELECT l.key AS lab,
       json_extract(l.value, '$.family') AS family,
       json_extract(l.value, '$.ready_seconds') AS ready_s
FROM run, json_each(run.header, '$.labs') l;

CREATE VIEW server_variable AS
SELECT l.key AS lab,
       json_extract(l.value, '$.family') AS family,
       node.key AS node, v.key AS name, v.value AS value
FROM run, json_each(run.header, '$.labs') l,
     json_each(l.value, '$.variables') node, json_each(node.value) v;

CREATE VIEW overridden AS
SELECT json_extract(l.value, '$.family') AS family,
       json_extract(o.value, '$[0]') AS name,
       json_extract(o.value, '$[1]') AS given,
       json_extract(o.value, '$[2]') AS used
FROM run, json_each(run.header, '$.labs') l, json_each(l.value, '$.overridden') o;

CREATE VIEW void_measurement AS
SELECT round, cell, turn, v.key AS made,
       json_extract(v.value, '$.flags') AS flags,
       json_extract(v.value, '$.late_packets') AS late_packets,
       json_extract(v.value, '$.packets') AS packets,
       json_extract(v.value, '$.commits') / json_extract(v.value, '$.window_s') AS commits_per_s,
       v.value AS body
FROM measurement, json_each(body, '$.voided') v;

CREATE VIEW remark AS
SELECT r.value AS remark FROM run, json_each(run.header, '$.remarks') r;

CREATE VIEW error_count AS
SELECT round, cell, turn,
       json_extract(e.value, '$.number') AS number,
       json_extract(e.value, '$.sqlstate') AS sqlstate,
       json_extract(e.value, '$.message') AS message,
       json_extract(e.value, '$.count') AS errors
FROM measurement, json_each(body, '$.errors') e;

CREATE VIEW timeline AS
SELECT round, cell, turn,
       json_extract(s.value, '$.second') AS second_s,
       json_extract(s.value, '$.commits') AS commits,
       json_extract(s.value, '$.transactions') AS transactions,
       json_extract(s.value, '$.errors') AS errors,
       json_extract(s.value, '$.latency_us_p50') AS latency_us_p50,
       json_extract(s.value, '$.latency_us_p99') AS latency_us_p99,
       json_extract(s.value, '$.latency_us_max') AS latency_us_max
FROM measurement, json_each(body, '$.timeline') s;

CREATE VIEW link AS
SELECT round, cell, turn,
       json_extract(t.value, '$.from') AS from_node,
       json_extract(t.value, '$.to') AS to_node,
       json_extract(t.value, '$.packets') AS packets,
       json_extract(t.value, '$.bytes') AS bytes,
       json_extract(t.value, '$.is_client') AS is_client
FROM measurement, json_each(body, '$.links') t;

CREATE VIEW rtt AS
SELECT round, cell, turn,
       json_extract(r.value, '$.from') AS from_node,
       json_extract(r.value, '$.to') AS to_node,
       json_extract(r.value, '$.from_site') AS from_site,
       json_extract(r.value, '$.to_site') AS to_site,
       json_extract(r.value, '$.rtt_us_asked') AS rtt_us_asked,
       json_extract(r.value, '$.rtt_us_before') AS rtt_us_before,
       json_extract(r.value, '$.rtt_us_after') AS rtt_us_after
FROM measurement, json_each(body, '$.rtts') r;

CREATE VIEW disk_time AS
SELECT round, cell, turn,
       json_extract(d.value, '$.node') AS node,
       json_extract(d.value, '$.site') AS site,
       json_extract(d.value, '$.flush_us_asked') AS flush_us_asked,
       json_extract(d.value, '$.flush_us_floor') AS flush_us_floor,
       json_extract(d.value, '$.flush_us_before') AS flush_us_before,
       json_extract(d.value, '$.flush_us_after') AS flush_us_after,
       json_extract(d.value, '$.write_us_asked') AS write_us_asked,
       json_extract(d.value, '$.write_us_floor') AS write_us_floor,
       json_extract(d.value, '$.write_us_before') AS write_us_before,
       json_extract(d.value, '$.write_us_after') AS write_us_after
FROM measurement, json_each(body, '$.disks_got') d;

CREATE VIEW disk_use AS
SELECT round, cell, turn,
       json_extract(d.value, '$.node') AS node,
       json_extract(d.value, '$.role') AS role,
       json_extract(d.value, '$.reads') AS reads,
       json_extract(d.value, '$.writes') AS writes,
       json_extract(d.value, '$.flushes') AS flushes,
       json_extract(d.value, '$.bytes_read') AS bytes_read,
       json_extract(d.value, '$.bytes_written') AS bytes_written,
       json_extract(d.value, '$.flush_time_us') AS flush_time_us,
       json_extract(d.value, '$.cpu_us') AS cpu_us,
       json_extract(d.value, '$.timed_replies') AS timed_replies,
       json_extract(d.value, '$.late_replies') AS late_replies,
       json_extract(d.value, '$.busy_us') AS busy_us
FROM measurement, json_each(body, '$.disks') d;

CREATE VIEW activity AS
SELECT round, cell, turn,
       json_extract(a.value, '$.node') AS node,
       json_extract(a.value, '$.from_s') AS from_s,
       json_extract(a.value, '$.span_s') AS span_s,
       json_extract(a.value, '$.cpu_us') AS cpu_us,
       json_extract(a.value, '$.disk.reads') AS reads,
       json_extract(a.value, '$.disk.writes') AS writes,
       json_extract(a.value, '$.disk.flushes') AS flushes,
       json_extract(a.value, '$.disk.bytes_read') AS bytes_read,
       json_extract(a.value, '$.disk.bytes_written') AS bytes_written,
       json_extract(a.value, '$.disk.busy_us') AS busy_us
FROM measurement, json_each(body, '$.activity') a;

CREATE VIEW degraded AS
SELECT round, cell, turn,
       json_extract(d.value, '$.from_ms') AS from_ms,
       json_extract(d.value, '$.to_ms') AS to_ms
FROM measurement, json_each(body, '$.degraded') d;

CREATE VIEW replica_cpu AS
SELECT round, cell, turn, r.key AS node, r.value AS cpu_us
FROM measurement, json_each(body, '$.cpu.replicas_us') r;

CREATE VIEW lag AS
SELECT round, cell, turn, json_extract(l.value, '$.node') AS node, ms.value AS lag_ms
FROM measurement, json_each(body, '$.lag') l, json_each(l.value, '$.lag_ms') ms;

CREATE VIEW handshake AS
SELECT round, cell, turn, json_extract(h.value, '$.node') AS node, us.value AS rtt_us
FROM measurement, json_each(body, '$.handshakes') h, json_each(h.value, '$.rtts_us') us;

CREATE VIEW catch_up AS
SELECT round, cell, turn, json_extract(l.value, '$.node') AS node,
       json_extract(l.value, '$.catch_up_ms') AS catch_up_ms
FROM measurement, json_each(body, '$.lag') l;

CREATE VIEW applied_alone AS
SELECT round, cell, turn,
       json_extract(a.value, '$.node') AS node,
       json_extract(a.value, '$.waiting') AS waiting,
       json_extract(a.value, '$.commits') AS commits,
       json_extract(a.value, '$.span_s') AS span_s,
       json_extract(a.value, '$.cpu_us') AS cpu_us
FROM measurement, json_each(body, '$.applied_alone') a;

CREATE VIEW status_change AS
SELECT round, cell, turn, node.key AS node, s.key AS name, s.value AS change
FROM measurement, json_each(body, '$.status') node, json_each(node.value) s;

CREATE VIEW iteration AS
SELECT round, cell, turn, i.key AS iteration,
       json_extract(i.value, '$.seconds') AS run_s,
       json_extract(i.value, '$.connect_seconds') AS connect_s,
       json_extract(i.value, '$.queries') AS queries
FROM measurement, json_each(body, '$.iterations') i;
