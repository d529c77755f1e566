// The SQL of each schema version; see schema.h. What is written here was published: a later change
// is a new version.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_SCHEMA_SQL_H_
#define DRAFTMARK_SRC_PERF_HISTORY_SCHEMA_SQL_H_

namespace draftmark {

inline constexpr char kSchemaVersion1[] = R"sql(
CREATE TABLE schema_version (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  version INTEGER NOT NULL
) STRICT;
INSERT INTO schema_version VALUES (1, 1);

CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  time INTEGER NOT NULL,
  sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX records_by_kind ON records (kind, time);

CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  architecture TEXT NOT NULL,
  gpu TEXT NOT NULL,
  driver TEXT NOT NULL,
  cuda TEXT NOT NULL,
  clocks TEXT NOT NULL,
  UNIQUE (architecture, gpu, driver, cuda, clocks)
) STRICT;

CREATE TABLE cases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  environment INTEGER NOT NULL REFERENCES environments (id),
  case_id INTEGER NOT NULL REFERENCES cases (id),
  schema INTEGER NOT NULL,
  UNIQUE (case_id, environment, schema)
) STRICT;
CREATE INDEX series_by_environment ON series (environment);

CREATE TABLE context (
  record INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (record, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  environment INTEGER NOT NULL REFERENCES environments (id),
  night TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  program TEXT NOT NULL,
  session TEXT NOT NULL,
  number INTEGER NOT NULL,
  valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
  reason TEXT NOT NULL,
  command TEXT NOT NULL,
  source TEXT NOT NULL,
  source_sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_night ON runs (environment, night);

CREATE TABLE points (
  series INTEGER NOT NULL REFERENCES series (id),
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  seconds REAL,
  median REAL,
  samples INTEGER NOT NULL,
  voided INTEGER NOT NULL,
  unit TEXT NOT NULL,
  marks INTEGER REFERENCES texts (id),
  failure INTEGER REFERENCES texts (id),
  reproduce INTEGER REFERENCES texts (id),
  bytes_per_second REAL,
  flops_per_second REAL,
  copy_share REAL,
  floor_share REAL,
  PRIMARY KEY (series, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX points_by_record ON points (record);

CREATE TABLE counts (
  series INTEGER NOT NULL REFERENCES series (id),
  field INTEGER NOT NULL REFERENCES texts (id),
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  value INTEGER NOT NULL,
  PRIMARY KEY (series, field, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX counts_by_record ON counts (record);

CREATE TABLE numbers (
  series INTEGER NOT NULL REFERENCES series (id),
  name INTEGER NOT NULL REFERENCES texts (id),
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  value REAL NOT NULL,
  PRIMARY KEY (series, name, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX numbers_by_record ON numbers (record);

CREATE TABLE conformance (
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases (id),
  precision TEXT NOT NULL,
  backend TEXT NOT NULL,
  variant TEXT NOT NULL,
  status TEXT NOT NULL,
  used_share REAL,
  signature TEXT NOT NULL,
  waiver TEXT NOT NULL,
  expires TEXT NOT NULL,
  reproduce INTEGER REFERENCES texts (id),
  PRIMARY KEY (record, case_id, precision, backend, variant)
) STRICT, WITHOUT ROWID;

CREATE TABLE suites (
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  name TEXT NOT NULL,
  passed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  problem TEXT NOT NULL,
  PRIMARY KEY (record, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE tests (
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  suite TEXT NOT NULL,
  test TEXT NOT NULL,
  status TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (record, suite, test)
) STRICT, WITHOUT ROWID;

CREATE TABLE gates (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  environment INTEGER NOT NULL REFERENCES environments (id),
  mode TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  next_commit TEXT NOT NULL,
  verdict TEXT NOT NULL,
  exit_code INTEGER NOT NULL,
  command TEXT NOT NULL
) STRICT;

CREATE TABLE gate_runs (
  record INTEGER NOT NULL REFERENCES gates (record) ON DELETE CASCADE,
  side TEXT NOT NULL CHECK (side IN ('base', 'new')),
  uid TEXT NOT NULL,
  PRIMARY KEY (record, side, uid)
) STRICT, WITHOUT ROWID;

CREATE TABLE gate_verdicts (
  series INTEGER NOT NULL REFERENCES series (id),
  metric TEXT NOT NULL,
  record INTEGER NOT NULL REFERENCES gates (record) ON DELETE CASCADE,
  verdict TEXT NOT NULL,
  reason INTEGER REFERENCES texts (id),
  ratio REAL,
  ci_low REAL,
  ci_high REAL,
  p REAL,
  variation REAL,
  detectable REAL,
  floor REAL,
  base REAL,
  next REAL,
  base_runs INTEGER NOT NULL,
  next_runs INTEGER NOT NULL,
  old_count INTEGER,
  new_count INTEGER,
  confirmed INTEGER CHECK (confirmed IN (0, 1)),
  reproduce INTEGER REFERENCES texts (id),
  PRIMARY KEY (series, metric, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX gate_verdicts_by_record ON gate_verdicts (record);

CREATE TABLE aa (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  environment INTEGER NOT NULL REFERENCES environments (id),
  commit_id TEXT NOT NULL,
  advisory INTEGER NOT NULL CHECK (advisory IN (0, 1)),
  command TEXT NOT NULL
) STRICT;

CREATE TABLE aa_results (
  series INTEGER NOT NULL REFERENCES series (id),
  record INTEGER NOT NULL REFERENCES aa (record) ON DELETE CASCADE,
  comparisons INTEGER NOT NULL,
  false_alarms INTEGER NOT NULL,
  unclear INTEGER NOT NULL,
  invalid INTEGER NOT NULL,
  spread REAL NOT NULL,
  detectable REAL NOT NULL,
  PRIMARY KEY (series, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX aa_results_by_record ON aa_results (record);

CREATE TABLE accepts (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  architecture TEXT NOT NULL,
  case_id INTEGER NOT NULL REFERENCES cases (id),
  schema INTEGER NOT NULL,
  field TEXT NOT NULL,
  old_value INTEGER,
  new_value INTEGER NOT NULL,
  reason TEXT NOT NULL,
  commit_id TEXT NOT NULL
) STRICT;
CREATE INDEX accepts_by_case ON accepts (case_id, field);

CREATE TABLE releases (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  note TEXT NOT NULL
) STRICT;
)sql";

inline constexpr char kSchemaVersion2[] = R"sql(
ALTER TABLE gates ADD COLUMN advisory INTEGER NOT NULL DEFAULT 0 CHECK (advisory IN (0, 1));
ALTER TABLE gates ADD COLUMN night TEXT NOT NULL DEFAULT '';

CREATE TABLE change_points (
  series INTEGER NOT NULL REFERENCES series (id),
  night TEXT NOT NULL,
  record INTEGER NOT NULL REFERENCES gates (record) ON DELETE CASCADE,
  commit_id TEXT NOT NULL,
  before REAL NOT NULL,
  after REAL NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1)),
  PRIMARY KEY (series, night, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX change_points_by_record ON change_points (record);

ALTER TABLE conformance ADD COLUMN operation TEXT NOT NULL DEFAULT '';
UPDATE conformance SET operation = (
  SELECT CASE
    WHEN name GLOB 'op/*/*' THEN substr(name, 1, 2 + instr(substr(name, 4), '/'))
    WHEN instr(name, '/') > 0 THEN substr(name, 1, instr(name, '/') - 1)
    ELSE name END
  FROM cases WHERE cases.id = conformance.case_id);

CREATE TABLE nights (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  environment INTEGER NOT NULL REFERENCES environments (id),
  night TEXT NOT NULL,
  commit_id TEXT NOT NULL
) STRICT;
CREATE INDEX nights_by_night ON nights (environment, night);

CREATE TABLE night_points (
  series INTEGER NOT NULL REFERENCES series (id),
  record INTEGER NOT NULL REFERENCES nights (record) ON DELETE CASCADE,
  seconds REAL,
  low REAL,
  high REAL,
  runs INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  unit TEXT NOT NULL,
  copy_share REAL,
  floor_share REAL,
  PRIMARY KEY (series, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX night_points_by_record ON night_points (record);

CREATE TABLE night_counts (
  series INTEGER NOT NULL REFERENCES series (id),
  field INTEGER NOT NULL REFERENCES texts (id),
  record INTEGER NOT NULL REFERENCES nights (record) ON DELETE CASCADE,
  value INTEGER NOT NULL,
  PRIMARY KEY (series, field, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX night_counts_by_record ON night_counts (record);

CREATE TABLE replaced_runs (
  uid TEXT NOT NULL,
  record INTEGER NOT NULL REFERENCES nights (record) ON DELETE CASCADE,
  PRIMARY KEY (uid, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX replaced_runs_by_record ON replaced_runs (record);

UPDATE schema_version SET version = 2;
)sql";

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_SCHEMA_SQL_H_
