-- A history as schema version 1 wrote it, with one record of each kind of that version.
PRAGMA foreign_keys = OFF;
PRAGMA application_id = 1145915441;
BEGIN TRANSACTION;
CREATE TABLE aa (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  environment INTEGER NOT NULL REFERENCES environments (id),
  commit_id TEXT NOT NULL,
  advisory INTEGER NOT NULL CHECK (advisory IN (0, 1)),
  command TEXT NOT NULL
) STRICT;
INSERT INTO "aa" VALUES(4,1,'b8a6378',1,'draftmark perf aa');
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
INSERT INTO "aa_results" VALUES(3,4,50,1,2,3,0.002,0.016);
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
INSERT INTO "accepts" VALUES(5,'sm_90',4,2,'total',100,101,'room for the second norm','b8a6378');
CREATE TABLE cases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO "cases" VALUES(1,'draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1');
INSERT INTO "cases" VALUES(2,'op/broken/rows=1/bf16');
INSERT INTO "cases" VALUES(3,'op/rms_norm/rows=16,h=4096/bf16');
INSERT INTO "cases" VALUES(4,'scratch/dflash_v2/qwen3-8b/ctx_window=4096,nb=8');
INSERT INTO "cases" VALUES(5,'draft/dflash_yarn/gamma=16,ctx=71,steps=2,nb=1');
INSERT INTO "cases" VALUES(6,'op/embed/rows=1/bf16');
INSERT INTO "cases" VALUES(7,'op/rms_norm/rows=1,h=8/bf16');
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
INSERT INTO "conformance" VALUES(2,3,'bf16','cuda','','PASS',0.4375,'','','',NULL);
INSERT INTO "conformance" VALUES(2,5,'bf16','cuda','scratch v1','XFAIL',NULL,'step0.layers.0.k_new: bound','angles are rounded to BF16','2026-12-31',NULL);
INSERT INTO "conformance" VALUES(2,6,'bf16','cuda','','FAIL',0.0,'y: bound','','',10);
INSERT INTO "conformance" VALUES(2,7,'bf16','cuda','','PASS',0.5,'','','',NULL);
CREATE TABLE context (
  record INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (record, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "context" VALUES(1,'copy_bytes_per_second','4268739957992');
INSERT INTO "context" VALUES(1,'cublaslt_version','130102');
INSERT INTO "context" VALUES(3,'sentinel','0.9987');
INSERT INTO "context" VALUES(4,'runs','20');
CREATE TABLE counts (
  series INTEGER NOT NULL REFERENCES series (id),
  field INTEGER NOT NULL REFERENCES texts (id),
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  value INTEGER NOT NULL,
  PRIMARY KEY (series, field, record)
) STRICT, WITHOUT ROWID;
INSERT INTO "counts" VALUES(1,3,1,9007199254740993);
INSERT INTO "counts" VALUES(1,4,1,4586572288);
INSERT INTO "counts" VALUES(4,9,1,0);
CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  architecture TEXT NOT NULL,
  gpu TEXT NOT NULL,
  driver TEXT NOT NULL,
  cuda TEXT NOT NULL,
  clocks TEXT NOT NULL,
  UNIQUE (architecture, gpu, driver, cuda, clocks)
) STRICT;
INSERT INTO "environments" VALUES(1,'sm_90','NVIDIA H200','580.159.04','13.0','default');
CREATE TABLE gate_runs (
  record INTEGER NOT NULL REFERENCES gates (record) ON DELETE CASCADE,
  side TEXT NOT NULL CHECK (side IN ('base', 'new')),
  uid TEXT NOT NULL,
  PRIMARY KEY (record, side, uid)
) STRICT, WITHOUT ROWID;
INSERT INTO "gate_runs" VALUES(3,'base','0000000000000000');
INSERT INTO "gate_runs" VALUES(3,'base','1111111111111111');
INSERT INTO "gate_runs" VALUES(3,'new','2222222222222222');
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
INSERT INTO "gate_verdicts" VALUES(3,'launches',3,'slower',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,3,4,NULL,NULL);
INSERT INTO "gate_verdicts" VALUES(3,'time',3,'slower',11,1.03,1.02,1.04,1.1e-05,0.003,0.016,0.015,1.0e-06,1.03e-06,10,10,NULL,NULL,1,12);
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
INSERT INTO "gates" VALUES(3,1,'nightly','b8a6378','3b55028','slower',1,'draftmark perf nightly');
CREATE TABLE numbers (
  series INTEGER NOT NULL REFERENCES series (id),
  name INTEGER NOT NULL REFERENCES texts (id),
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  value REAL NOT NULL,
  PRIMARY KEY (series, name, record)
) STRICT, WITHOUT ROWID;
INSERT INTO "numbers" VALUES(1,5,1,-0.25);
INSERT INTO "numbers" VALUES(1,6,1,1.0313);
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
INSERT INTO "points" VALUES(1,1,0.0010408,0.00104,30,7,'ms',1,NULL,2,3200000000000.0,50000000000000.0,0.75,0.766);
INSERT INTO "points" VALUES(2,1,NULL,NULL,0,0,'',NULL,7,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "points" VALUES(3,1,1.5e-06,1.5e-06,30,0,'us',NULL,NULL,8,NULL,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,1,NULL,NULL,0,0,'',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  time INTEGER NOT NULL,
  sha256 TEXT NOT NULL
) STRICT;
INSERT INTO "records" VALUES(1,'aaaaaaaaaaaaaaaa','run',1796005457,'00a0790320470894660cded44c4c31a35a53f004c0ab469c7ee9b4ef17a62a35');
INSERT INTO "records" VALUES(2,'e1e3ea4e1aa76653','run',1796005457,'e1e3ea4e1aa76653424a52a98395c25f9ca5a240274ec76affd514f493092b03');
INSERT INTO "records" VALUES(3,'54c37977fb682b80','gate',1796005457,'54c37977fb682b803cbba133e38155ac1a03b51e445f99168c1816e3813c66fb');
INSERT INTO "records" VALUES(4,'33b9cb21a9047040','aa',1796005457,'33b9cb21a9047040eaf96e8f8acfd7adcf9b3362e9ca2bb750f47a17f0b55411');
INSERT INTO "records" VALUES(5,'5cfcac981bfd5b00','accept',1796005457,'5cfcac981bfd5b00803b0cb2f04917dc28e6457e8fcd4a73e46521f04af12121');
INSERT INTO "records" VALUES(6,'37621692caa83744','release',1796005457,'37621692caa837449f4eedd06375b6acf08e3560949f6914ec7ff23439dba8b8');
CREATE TABLE releases (
  record INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  note TEXT NOT NULL
) STRICT;
INSERT INTO "releases" VALUES(6,'v1.0','b8a6378','first');
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
INSERT INTO "runs" VALUES(1,1,'2026-11-29','b8a6378e00000000000000000000000000000000','operations_benchmark','nightly',3,0,'7 of 30 samples are void: clock moved','draftmark-gpu/run bench','benchmarks.operations_benchmark.json','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
INSERT INTO "runs" VALUES(2,1,'2026-11-30','b8a6378e00000000000000000000000000000000','draftmark_verify','nightly',0,1,'','','','');
CREATE TABLE schema_version (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  version INTEGER NOT NULL
) STRICT;
INSERT INTO "schema_version" VALUES(1,1);
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  environment INTEGER NOT NULL REFERENCES environments (id),
  case_id INTEGER NOT NULL REFERENCES cases (id),
  schema INTEGER NOT NULL,
  UNIQUE (case_id, environment, schema)
) STRICT;
INSERT INTO "series" VALUES(1,1,1,2);
INSERT INTO "series" VALUES(2,1,2,1);
INSERT INTO "series" VALUES(3,1,3,1);
INSERT INTO "series" VALUES(4,1,4,1);
CREATE TABLE suites (
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  name TEXT NOT NULL,
  passed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  problem TEXT NOT NULL,
  PRIMARY KEY (record, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "suites" VALUES(2,'draftmark_verify',3,1,0,'said é');
CREATE TABLE tests (
  record INTEGER NOT NULL REFERENCES runs (record) ON DELETE CASCADE,
  suite TEXT NOT NULL,
  test TEXT NOT NULL,
  status TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (record, suite, test)
) STRICT, WITHOUT ROWID;
INSERT INTO "tests" VALUES(2,'kernels.gpu_test.A','B','skipped','x');
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO "texts" VALUES(1,'clock moved,other process');
INSERT INTO "texts" VALUES(2,'operations_benchmark --benchmark_filter=draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1');
INSERT INTO "texts" VALUES(3,'launches');
INSERT INTO "texts" VALUES(4,'memory_weights');
INSERT INTO "texts" VALUES(5,'delta');
INSERT INTO "texts" VALUES(6,'min_ms');
INSERT INTO "texts" VALUES(7,'failed: no "kernel"');
INSERT INTO "texts" VALUES(8,'operations_benchmark --benchmark_filter=op/rms_norm/rows=16,h=4096/bf16');
INSERT INTO "texts" VALUES(9,'total');
INSERT INTO "texts" VALUES(10,'draftmark verify op/embed/rows=1/bf16');
INSERT INTO "texts" VALUES(11,'3.0 % slower');
INSERT INTO "texts" VALUES(12,'draftmark perf compare base new --case=op/rms_norm/rows=16,h=4096/bf16');
CREATE INDEX records_by_kind ON records (kind, time);
CREATE INDEX series_by_environment ON series (environment);
CREATE INDEX runs_by_night ON runs (environment, night);
CREATE INDEX points_by_record ON points (record);
CREATE INDEX counts_by_record ON counts (record);
CREATE INDEX numbers_by_record ON numbers (record);
CREATE INDEX gate_verdicts_by_record ON gate_verdicts (record);
CREATE INDEX aa_results_by_record ON aa_results (record);
CREATE INDEX accepts_by_case ON accepts (case_id, field);
COMMIT;
