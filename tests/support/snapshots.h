// Made-up jobs for views: the same for the same shape and time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::test {

struct SnapshotShape {
  uint32_t nodes = 4;
  uint32_t per_node = 8;
  bool gpus = true;
  bool progress = true;
};

inline constexpr int64_t kSnapshotNow = 1795444582000;  // 2026-11-23 14:36:22 UTC
inline constexpr int64_t kSnapshotStart = kSnapshotNow - 5 * 3'600'000 - 22 * 60'000;
inline constexpr int64_t kSlowSince = kSnapshotNow - 34 * 60'000;

// Pseudorandom from 0 to 1, determined by these numbers.
inline double Noise(uint64_t a, uint64_t b, uint64_t c = 0) {
  uint64_t x = a * 0x9E3779B97F4A7C15u ^ b * 0xC2B2AE3D27D4EB4Fu ^ (c + 1) * 0x165667B19E3779F9u;
  x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93u;
  x ^= x >> 32;
  return static_cast<double>(x % 10'000) / 10'000;
}

inline std::string NodeName(const SnapshotShape& shape, uint32_t node) {
  std::string number = std::to_string(node + 1);
  if (shape.nodes > 99) number.insert(0, 3 - std::min<size_t>(number.size(), 3), '0');
  return "node" + number;
}

inline void FillGpu(v1::GpuSample& gpu, uint32_t rank, uint64_t tick) {
  gpu.set_use(0.92 + 0.06 * Noise(rank, tick, 1));
  gpu.set_memory_used(static_cast<uint64_t>(61.6e9 + 0.8e9 * Noise(rank, 0, 2)));
  gpu.set_memory_total(80'000'000'000);
  gpu.set_power(530 + 35 * Noise(rank, tick, 3));
  gpu.set_power_limit(700);
  gpu.set_temperature(62 + 3 * Noise(rank, tick, 4));
  gpu.set_clock(1935 + std::floor(4 * Noise(rank, tick, 5)) * 15);
  gpu.set_clock_limit(1980);
}

inline void FillNode(v1::NodeSnapshot& node, const SnapshotShape& shape, uint32_t index,
                     int64_t now_ms) {
  const auto tick = static_cast<uint64_t>(now_ms / 2000);
  node.set_address(NodeName(shape, index));
  node.set_phase(v1::NODE_PHASE_RUNNING);
  node.set_last_contact_ms(now_ms - 100 - static_cast<int64_t>(300 * Noise(index, tick)));
  v1::NodeSample& sample = *node.mutable_sample();
  v1::HostSample& host = *sample.mutable_host();
  host.set_cpu(0.2 + 0.08 * Noise(index, tick, 7));
  host.set_cores(96);
  host.set_memory_used(208'000'000'000 + index * 1'000'000'000ull);
  host.set_memory_total(1'000'000'000'000);
  host.set_memory_pressure(0);
  host.set_disk_write(1.2e6 * Noise(index, tick, 8));
  v1::InterfaceSample& link = *sample.add_interfaces();
  link.set_name("eth0");
  link.set_received(8.2e9 + 2e8 * Noise(index, tick, 9));
  link.set_sent(8.2e9 + 2e8 * Noise(index, tick, 10));
  link.set_errors(0);
  for (uint32_t local = 0; shape.gpus && local < shape.per_node; ++local) {
    v1::GpuSample& gpu = *sample.add_gpus();
    gpu.set_index(local);
    FillGpu(gpu, index * shape.per_node + local, tick);
  }
}

inline void FillRank(v1::RankSnapshot& rank, const SnapshotShape& shape, uint32_t number,
                     int64_t now_ms) {
  const auto tick = static_cast<uint64_t>(now_ms / 2000);
  rank.set_rank(number);
  rank.set_name("rank " + std::to_string(number));
  rank.set_node(number / shape.per_node);
  rank.set_local_rank(number % shape.per_node);
  if (shape.gpus) rank.add_gpus(number % shape.per_node);
  rank.set_state(v1::RANK_STATE_RUNNING);
  rank.set_pid(static_cast<int32_t>(10'000 + number));
  rank.mutable_sample()->set_rank(number);
  rank.mutable_sample()->set_cpu(1.04 + 0.04 * Noise(number, tick, 11));
  rank.mutable_sample()->set_memory(4'100'000'000 + number % 8 * 100'000'000ull);
  rank.set_last_output_ms(now_ms - static_cast<int64_t>(1500 * Noise(number, tick, 12)));
  if (shape.progress) {
    const double time = 0.482 + 0.008 * Noise(number, 0, 13);
    rank.mutable_progress()->set_rate(1 / time);
    rank.mutable_progress()->set_step(37'118);
  }
  constexpr const char* kLines[] = {"step 37,118 loss=2.0544 grad=0.318", "prefetch queue 6 of 8",
                                    "dataloader: opened shard-0418.tar"};
  rank.set_last_line(kLines[number % 3]);
}

inline void AddEvent(v1::JobSnapshot& snapshot, int64_t time_ms, const std::string& what,
                     const std::string& node = "") {
  v1::JobEvent& event = *snapshot.add_events();
  event.set_time_ms(time_ms);
  event.set_node(node);
  event.set_what(what);
}

inline v1::JobSnapshot HealthySnapshot(const SnapshotShape& shape, int64_t now_ms = kSnapshotNow) {
  v1::JobSnapshot snapshot;
  snapshot.set_version(static_cast<uint64_t>(now_ms));
  snapshot.set_time_ms(now_ms);
  snapshot.set_sample_ms(2000);
  v1::JobStatus& job = *snapshot.mutable_job();
  job.set_job_id("20261123-091422-3fa9c1");
  job.set_phase(v1::JOB_PHASE_RUNNING);
  job.set_started_ms(kSnapshotStart);
  for (const char* word : {"python3", "train.py", "--config", "conf/1b3.yaml"}) {
    job.add_command(word);
  }
  job.set_world_size(shape.nodes * shape.per_node);
  job.set_processes(shape.nodes * shape.per_node);
  job.set_host("login1");
  job.set_max_restarts(3);
  for (uint32_t i = 0; i < shape.nodes; ++i) FillNode(*snapshot.add_nodes(), shape, i, now_ms);
  for (uint32_t i = 0; i < shape.nodes * shape.per_node; ++i) {
    FillRank(*snapshot.add_ranks(), shape, i, now_ms);
    snapshot.mutable_nodes(static_cast<int>(i / shape.per_node))->add_ranks(i);
  }
  if (shape.progress) {
    v1::Progress& progress = *snapshot.mutable_progress();
    const auto since = static_cast<uint64_t>(std::max<int64_t>(now_ms - kSnapshotNow, 0));
    progress.set_step(37'118 + since / 500);
    progress.set_total(60'000);
    progress.set_rate(2.06);
    progress.set_eta(11'100);
    v1::Metric& loss = *progress.add_metrics();
    loss.set_name("loss");
    loss.set_value(2.054);
    progress.set_source("bar");
  }
  v1::GoodputParts& spent = *snapshot.mutable_goodput_parts();
  spent.set_start_up(79'000);
  spent.set_training(now_ms - kSnapshotStart - 79'000);
  spent.set_steps_known(shape.progress);
  v1::JobEvent& running = *snapshot.add_events();
  running.set_time_ms(kSnapshotStart + 41'000);
  running.set_job_phase(v1::JOB_PHASE_RUNNING);
  return snapshot;
}

// Every half minute since the start; from `kSlowSince` on as slow as the snapshot.
inline v1::History HistoryOf(const SnapshotShape& shape, const v1::JobSnapshot& snapshot) {
  constexpr int64_t kWidth = 30'000;
  v1::History history;
  for (int64_t at = kSnapshotStart + kWidth; at <= snapshot.time_ms(); at += kWidth) {
    v1::HistoryPoint& point = *history.add_points();
    const auto tick = static_cast<uint64_t>(at / kWidth);
    point.set_time_ms(at);
    point.set_width_ms(kWidth);
    point.set_cpu(0.2 + 0.08 * Noise(1, tick));
    point.set_memory(208e9);
    const bool now = at >= kSlowSince;
    if (shape.progress) {
      const double rate = now ? snapshot.progress().rate() : 2.06;
      point.set_rate(rate + 0.02 * Noise(2, tick));
      v1::Metric& loss = *point.add_metrics();
      const double hours = static_cast<double>(at - kSnapshotStart) / 3'600'000;
      loss.set_name("loss");
      loss.set_value(1.9 + 2 * std::exp(-0.47 * hours) + 0.03 * Noise(3, tick));
    }
    if (shape.gpus) {
      point.set_gpu_use(0.94 + 0.03 * Noise(4, tick));
      point.set_gpu_power((now ? 520 : 548) + 8 * Noise(5, tick));
      point.set_gpu_memory(61.8e9);
    }
    point.set_received(8.3e9 + 1e8 * Noise(6, tick));
    point.set_sent(8.3e9);
  }
  return history;
}

inline v1::Issue& AddIssue(v1::JobSnapshot& snapshot, v1::Issue::Kind kind, const std::string& what,
                           int64_t since_ms) {
  v1::Issue& issue = *snapshot.add_issues();
  issue.set_kind(kind);
  issue.set_what(what);
  issue.set_since_ms(since_ms);
  return issue;
}

inline void AddEvidence(v1::Issue& issue, const std::string& what, const std::string& value,
                        const std::string& source, bool against = false) {
  v1::Evidence& evidence = *issue.add_evidence();
  evidence.set_what(what);
  evidence.set_value(value);
  evidence.set_source(source);
  evidence.set_against(against);
}

// Rank 25's GPU is throttled.
inline v1::JobSnapshot SlowSnapshot(v1::JobSnapshot snapshot) {
  v1::Issue& issue =
      AddIssue(snapshot, v1::Issue::KIND_SLOW,
               "Rank 25 (node4, GPU 1) is 1.4 × slower than the median since 14:02: its GPU is "
               "throttled, power brake.",
               kSlowSince);
  issue.add_ranks(25);
  issue.add_nodes(3);
  issue.set_cost("31 wait 0.20 s in each step.");
  AddEvidence(issue, "throttle", "HW power brake, without a break since 14:02:22", "nvidia-smi");
  AddEvidence(issue, "clock", "1,005 MHz of 1,980; the other 31: 1,935–1,980", "nvidia-smi");
  AddEvidence(issue, "the cause", "CPU 22 %, disk idle, no ECC or NVLink errors", "agent", true);
  v1::GpuSample& gpu = *snapshot.mutable_nodes(3)->mutable_sample()->mutable_gpus(1);
  gpu.set_use(0.99);
  gpu.set_power(312);
  gpu.set_clock(1005);
  gpu.add_throttled("HW power brake");
  snapshot.mutable_ranks(25)->mutable_progress()->set_rate(1 / 0.678);
  snapshot.mutable_progress()->set_rate(1.47);
  snapshot.mutable_progress()->set_eta(15'540);
  return snapshot;
}

// Two ranks have not entered a collective.
inline v1::JobSnapshot StalledSnapshot(v1::JobSnapshot snapshot) {
  v1::Issue& issue = AddIssue(snapshot, v1::Issue::KIND_STALLED,
                              "Ranks 13 and 15 (node2) have not entered the all-reduce in "
                              "which the 30 others wait: reading "
                              "shard-1178.tar.",
                              snapshot.time_ms() - 41'000);
  for (const uint32_t rank : {13u, 15u}) {
    issue.add_ranks(rank);
    const int local = static_cast<int>(rank % 8);
    snapshot.mutable_nodes(1)->mutable_sample()->mutable_gpus(local)->set_use(0);
    snapshot.mutable_ranks(static_cast<int>(rank))->set_last_line("opening /data/shard-1178.tar");
  }
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
    rank.clear_progress();
    rank.set_last_output_ms(snapshot.time_ms() - 41'000);
  }
  snapshot.mutable_progress()->clear_rate();
  snapshot.mutable_progress()->clear_eta();
  return snapshot;
}

inline v1::JobSnapshot AwaySnapshot(v1::JobSnapshot snapshot) {
  AddIssue(snapshot, v1::Issue::KIND_DISCONNECTED,
           "node3 does not answer since 14:36:11; its lease ends in 49 s.",
           snapshot.time_ms() - 11'000)
      .add_nodes(2);
  v1::NodeSnapshot& node = *snapshot.mutable_nodes(2);
  node.set_phase(v1::NODE_PHASE_RECONNECTING);
  node.set_last_contact_ms(snapshot.time_ms() - 11'000);
  for (const uint32_t rank : node.ranks()) {
    snapshot.mutable_ranks(static_cast<int>(rank))->set_state(v1::RANK_STATE_DISCONNECTED);
  }
  AddEvent(snapshot, snapshot.time_ms() - 11'000, "connection reset by peer", "node3");
  snapshot.mutable_events()->rbegin()->set_node_phase(v1::NODE_PHASE_RECONNECTING);
  return snapshot;
}

inline void End(v1::JobSnapshot& snapshot, int32_t exit_code) {
  snapshot.mutable_job()->set_phase(v1::JOB_PHASE_ENDED);
  snapshot.mutable_job()->set_ended_ms(snapshot.time_ms());
  snapshot.mutable_job()->set_exit_code(exit_code);
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) node.set_phase(v1::NODE_PHASE_ENDED);
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
    rank.set_state(v1::RANK_STATE_ENDED);
    rank.set_ended(exit_code == 0 ? "exited with code 0" : "ended by SIGTERM");
  }
}

inline v1::JobSnapshot EndedSnapshot(v1::JobSnapshot snapshot) {
  snapshot.mutable_progress()->set_step(60'000);
  snapshot.mutable_progress()->clear_eta();
  End(snapshot, 0);
  return snapshot;
}

inline v1::JobSnapshot FailedSnapshot(v1::JobSnapshot snapshot) {
  End(snapshot, 1);
  v1::RankSnapshot& rank = *snapshot.mutable_ranks(22);
  rank.set_state(v1::RANK_STATE_FAILED);
  rank.set_ended("exited with code 1: CUDA out of memory, train.py:214");
  v1::Issue& issue = AddIssue(
      snapshot, v1::Issue::KIND_FAILED,
      "Rank 22 on node3 exited with code 1: CUDA out of memory, train.py:214.", snapshot.time_ms());
  issue.add_ranks(22);
  v1::Recovery& recovery = *snapshot.add_recoveries();
  recovery.set_attempt(1);
  recovery.set_began_ms(snapshot.time_ms() - 3'600'000);
  recovery.set_notice(1'200);
  recovery.set_stopping(340);
  recovery.set_preparing(95);
  recovery.set_starting(260);
  recovery.set_first_step(4'400);
  snapshot.set_checkpoint("step-36000/shard-3.pt");
  snapshot.set_checkpoint_ms(snapshot.time_ms() - 100'000);
  AddEvent(snapshot, snapshot.time_ms(), "exited with code 1", "node3");
  snapshot.mutable_events()->rbegin()->set_rank(22);
  return snapshot;
}

// Adds one issue of each kind, as in a large job.
inline v1::JobSnapshot LargeSnapshot(v1::JobSnapshot snapshot) {
  v1::Issue& stuck = AddIssue(
      snapshot, v1::Issue::KIND_STALLED,
      "Ranks 701 and 703 (node088) have not entered the all-reduce in which the others wait.",
      snapshot.time_ms() - 41'000);
  stuck.add_ranks(701);
  stuck.add_ranks(703);
  v1::Issue& slow = AddIssue(snapshot, v1::Issue::KIND_SLOW,
                             "6 ranks on node041 and node042: 1.3 × slower since 13:51.",
                             snapshot.time_ms() - 45 * 60'000);
  for (const uint32_t rank : {321u, 323u, 325u, 328u, 331u, 332u}) slow.add_ranks(rank);
  AddIssue(snapshot, v1::Issue::KIND_DISCONNECTED, "node063 does not answer since 14:36:11.",
           snapshot.time_ms() - 11'000)
      .add_nodes(62);
  snapshot.mutable_nodes(62)->set_phase(v1::NODE_PHASE_RECONNECTING);
  return snapshot;
}

}  // namespace autodist::test
