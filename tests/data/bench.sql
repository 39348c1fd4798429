-- A result of `rooftop bench` whose every figure can be worked out by hand: two jobs, a and b.
-- Alone a takes 10 s and b 40 s on average; energies make 100 W exclusive and 120 W under MPS.
BEGIN;
CREATE TABLE fact(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO fact VALUES
 ('jobs', '[bench]
title = Two <jobs> & more
modes = exclusive, time-slicing, mps-equal
repeats = 3
[a]
command = python a.py
[b]
command = python b.py --x "1 < 2"
'),
 ('jobs_name', 'jobs.ini'), ('gpu', 'NVIDIA H200'), ('gpu_uuid', 'GPU-1'),
 ('driver_version', '580.159.04'), ('host', 'node1'), ('rooftop_version', '0.1.0'),
 ('command', 'rooftop bench jobs.ini'), ('idle_watts', '80');
CREATE TABLE trial(id INTEGER PRIMARY KEY, mode TEXT NOT NULL, repeat INTEGER NOT NULL, time REAL NOT NULL,
 makespan_seconds REAL, jobs_per_hour REAL, completion_seconds REAL, stp REAL, antt REAL, worst_slowdown REAL,
 fairness REAL, energy_joules REAL, energy_per_job_joules REAL, power_watts REAL, compute_sol_ratio REAL,
 memory_sol_ratio REAL, sm_active_ratio REAL, nvml_utilization_ratio REAL, memory_peak_bytes REAL,
 sm_clock_hertz REAL, effective_clock_hertz REAL, whole_seconds REAL, UNIQUE(mode, repeat));
CREATE TABLE run(trial INTEGER NOT NULL, instance INTEGER NOT NULL, name TEXT NOT NULL, begin REAL, end REAL,
 outcome TEXT, exit_code INTEGER, memory_peak REAL, output TEXT, PRIMARY KEY(trial, instance)) WITHOUT ROWID;
CREATE TABLE point(trial INTEGER NOT NULL, time REAL NOT NULL, compute_sol REAL, memory_sol REAL,
 nvml_utilization REAL, power REAL, PRIMARY KEY(trial, time)) WITHOUT ROWID;
INSERT INTO trial(id, mode, repeat, time, energy_joules, compute_sol_ratio, memory_sol_ratio,
 nvml_utilization_ratio, memory_peak_bytes, sm_clock_hertz, whole_seconds) VALUES
 (1, 'exclusive', 0, 1790000000, 4900, 0.10, 0.05, 0.99, 2147483648, 1980000000, 60),
 (2, 'time-slicing', 0, 1790000100, 4800, 0.12, 0.06, 0.99, 4294967296, 1980000000, 60),
 (3, 'mps-equal', 0, 1790000200, 2352, 0.24, 0.12, 0.99, 4294967296, 1980000000, 30),
 (4, 'time-slicing', 1, 1790000300, 4800, 0.12, 0.06, 0.99, 4294967296, 1980000000, 60),
 (5, 'mps-equal', 1, 1790000400, 2400, 0.25, 0.12, 0.99, 4294967296, 1980000000, 30),
 (6, 'exclusive', 1, 1790000500, 5000, 0.10, 0.05, 0.99, 2147483648, 1980000000, 60),
 (7, 'mps-equal', 2, 1790000600, 2448, 0.26, 0.12, 0.99, 4294967296, 1980000000, 30),
 (8, 'exclusive', 2, 1790000700, 5100, 0.10, 0.05, 0.99, 2147483648, 1980000000, 60),
 (9, 'time-slicing', 2, 1790000800, 4800, 0.12, 0.06, 0.99, 4294967296, 1980000000, 60);
INSERT INTO run(trial, instance, name, begin, end, outcome, exit_code, memory_peak, output) VALUES
 (1, 0, 'a', 0, 9.8, 'ended', 0, 1e9, ''), (1, 1, 'b', 9.8, 49, 'ended', 0, 1e9, ''),
 (6, 0, 'a', 0, 10, 'ended', 0, 1e9, ''), (6, 1, 'b', 10, 50, 'ended', 0, 1e9, ''),
 (8, 0, 'a', 0, 10.2, 'ended', 0, 1e9, ''), (8, 1, 'b', 10.2, 51, 'ended', 0, 1e9, ''),
 (2, 0, 'a', 0, 20, 'ended', 0, 1e9, ''), (2, 1, 'b', 0, 47, 'ended', 0, 1e9, ''),
 (4, 0, 'a', 0, 20, 'ended', 0, 1e9, ''), (4, 1, 'b', 0, 50, 'ended', 0, 1e9, ''),
 (9, 0, 'a', 0, 20, 'ended', 0, 1e9, ''), (9, 1, 'b', 0, 53, 'failed', 7, 1e9, 'out of <memory>'),
 (3, 0, 'a', 0, 12.5, 'ended', 0, 1e9, ''), (3, 1, 'b', 0, 19.6, 'ended', 0, 1e9, ''),
 (5, 0, 'a', 0, 12.5, 'ended', 0, 1e9, ''), (5, 1, 'b', 0, 20, 'ended', 0, 1e9, ''),
 (7, 0, 'a', 0, 12.5, 'ended', 0, 1e9, ''), (7, 1, 'b', 0, 20.4, 'ended', 0, 1e9, '');
WITH RECURSIVE t(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM t WHERE k < 40)
INSERT INTO point SELECT id, k * CASE mode WHEN 'mps-equal' THEN 0.5 ELSE 1.25 END, compute_sol_ratio * (1 + (k % 3) / 10.0),
 memory_sol_ratio, nvml_utilization_ratio, energy_joules / 50 FROM trial, t;
PRAGMA application_id = 1380926021;
PRAGMA user_version = 1;
COMMIT;
