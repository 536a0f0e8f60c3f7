// Simulates a job for tests of `autodist web`; deterministic, except for the time of day.
//
//   web_snapshot JOB FOLDER [--no-gpus] [--nodes N] [--ended] [--figures zero|unknown]
//
// Serves the job, with log files in FOLDER, until the end of stdin. Each input line is a command:
// "fail RANK", "slow RANK", "away NODE", "back NODE", "log RANK TEXT", "restart", "end CODE".
// Prints "ready" first, and "done" after each command. All attempts log into FOLDER. --ended: only
// writes the record of an ended job. --figures: each figure is 0, or unknown.
#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>
#include <memory>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <mutex>
#include <set>
#include <sstream>

#include "base/wall_clock.h"
#include "control/job_record.h"
#include "control/job_server.h"
#include "control/snapshot_client.h"
#include "snapshot/derived.h"
#include "support/example_diagnosis.h"

namespace autodist {
namespace {

constexpr int64_t kMinute = 60'000;
constexpr int64_t kSecond = 1'000;
constexpr int64_t kAge = 96 * kMinute;     // of the job
constexpr int64_t kFailed = 38 * kMinute;  // after its start: the first attempt fails
constexpr int64_t kAgain = kFailed + 40 * kSecond;
constexpr int64_t kWarm = 35 * kSecond;
constexpr double kRate = 2.06;
constexpr uint64_t kTotal = 20000;
constexpr int kGpus = 2;  // per node
constexpr uint64_t kMemory = 80'000'000'000;

// Pseudo-random value between -1 and 1, deterministic.
double Noise(double a, double b) {
  const double x = std::sin(a * 127.1 + b * 311.7) * 43758.5453;
  return 2 * (x - std::floor(x)) - 1;
}

enum class Figures { kUsual, kZero, kUnknown };

// Replaces the figures of the message, and of those in it.
void Replace(google::protobuf::Message& message, Figures by) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(message, &fields);
  for (const Field* field : fields) {
    const bool zero = by == Figures::kZero;
    if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
      for (int i = 0; i < size; ++i) {
        Replace(*reflection.MutableRepeatedMessage(&message, field, i), by);
      }
      if (!field->is_repeated()) Replace(*reflection.MutableMessage(&message, field), by);
    } else if (field->has_presence() && !zero) {
      reflection.ClearField(&message, field);
    } else if (field->has_presence() && field->cpp_type() == Field::CPPTYPE_UINT64) {
      reflection.SetUInt64(&message, field, 0);
    } else if (!field->is_repeated() && field->cpp_type() == Field::CPPTYPE_DOUBLE) {
      reflection.SetDouble(&message, field, zero ? 0 : std::numeric_limits<double>::quiet_NaN());
    }
  }
}

class FakeJob {
 public:
  FakeJob(std::string id, std::string folder, int nodes, bool gpus, bool ended, Figures figures)
      : id_(std::move(id)),
        folder_(std::move(folder)),
        nodes_(nodes),
        gpus_(gpus),
        ended_(ended),
        figures_(figures),
        started_(base::MillisecondsSince1970() - kAge - (ended ? 300 * kMinute : 0)),
        attempt_folder_(folder_) {
    std::filesystem::create_directories(folder_);
    for (int rank = 0; rank < ranks(); ++rank) {
      for (int step = 0; step < 400; ++step) Write(rank, LineOf(rank, step));
    }
  }

  int ranks() const { return nodes_ * kGpus; }

  void Do(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    int number = 0;
    words >> verb >> number;
    const std::lock_guard lock(mutex_);
    ++changes_;
    if (verb == "fail") failed_.insert(number), failed_ms_ = Now();
    if (verb == "slow") slow_.insert(number);
    if (verb == "away") away_.insert(number);
    if (verb == "back") away_.erase(number);
    if (verb == "end") end_ms_ = ended_ ? started_ + kAge : Now(), exit_code_ = number;
    if (verb == "restart") {
      ++attempt_;
      attempt_folder_ = control::AttemptFolder(folder_, attempt_);
      std::filesystem::create_directories(attempt_folder_);
      for (int rank = 0; rank < ranks(); ++rank) Write(rank, "started once more");
    }
    if (verb == "log") {
      std::string text;
      std::getline(words >> std::ws, text);
      last_lines_[number] = text;
      Write(number, text);
    }
  }

  v1::JobStatus Status() {
    const std::lock_guard lock(mutex_);
    return MakeStatus();
  }

  v1::JobSnapshot Snapshot(uint64_t known = 0) {
    const std::lock_guard lock(mutex_);
    const int64_t now = end_ms_ ? end_ms_ : Now();
    v1::JobSnapshot snapshot;
    snapshot.set_version(static_cast<uint64_t>(now / 500) + 1'000'000'000'000 * (changes_ + 1));
    if (snapshot.version() == known) return snapshot;
    snapshot.set_time_ms(now);
    snapshot.set_sample_ms(2000);
    *snapshot.mutable_job() = MakeStatus();
    for (int node = 0; node < nodes_; ++node) AddNode(snapshot, node, now);
    for (int rank = 0; rank < ranks(); ++rank) AddRank(snapshot, rank, now);
    FillProgress(*snapshot.mutable_progress(), now);
    AddEvents(snapshot);
    AddIssues(snapshot);
    v1::GoodputParts& spent = *snapshot.mutable_goodput_parts();
    spent.set_start_up(kWarm);
    spent.set_restarting(kAgain - kFailed + kWarm);
    spent.set_lost_steps(4 * kMinute + 10 * kSecond);
    spent.set_stalled(70 * kSecond);
    spent.set_stopping(2 * kSecond);
    spent.set_training(now - started_ - spent.start_up() - spent.restarting() - spent.lost_steps() -
                       spent.stalled() - spent.stopping());
    spent.set_steps_known(true);
    if (figures_ != Figures::kUsual) {
      spent.Clear();
      Replace(*snapshot.mutable_progress(), figures_);
      for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) {
        Replace(*node.mutable_sample(), figures_);
      }
      for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
        if (rank.has_sample()) Replace(*rank.mutable_sample(), figures_);
        if (rank.has_progress()) Replace(*rank.mutable_progress(), figures_);
      }
      if (figures_ == Figures::kUnknown) snapshot.clear_goodput_parts();
    }
    snapshot::Derive(snapshot);
    return snapshot;
  }

  v1::History History(int64_t since) {
    const std::lock_guard lock(mutex_);
    const int64_t now = end_ms_ ? end_ms_ : Now();
    v1::History history;
    for (int64_t end = started_ + 10 * kSecond; end <= now; end += 10 * kSecond) {
      if (end > since) AddPoint(*history.add_points(), end);
    }
    if (figures_ != Figures::kUsual) Replace(history, figures_);
    return history;
  }

 private:
  static int64_t Now() { return base::MillisecondsSince1970(); }

  std::string LineOf(int rank, int step) const {
    char text[160];
    std::snprintf(text, sizeof text, "step %d  loss %.4f  grad %.3f  tok/s %d", step + 8200,
                  2.4 - step * 0.0006 + 0.02 * Noise(step, rank), 0.31 + 0.1 * Noise(step, 2),
                  static_cast<int>(541000 + 9000 * Noise(step, 5)));
    return text;
  }
  void Write(int rank, const std::string& line) {
    std::ofstream(attempt_folder_ + "/rank-" + std::to_string(rank) + ".out", std::ios::app)
        << line << "\n";
  }

  // The number of steps at a time.
  double StepAt(int64_t ms) const {
    const int64_t t = ms - started_;
    const auto seconds = [](int64_t from, int64_t to) {
      return static_cast<double>(std::max<int64_t>(0, to - from)) / 1000;
    };
    if (t < kAgain + kWarm) return kRate * seconds(kWarm, std::min(t, kFailed));
    return kRate * (seconds(kWarm, kFailed) - 250 + seconds(kAgain + kWarm, t));
  }
  bool TrainsAt(int64_t ms) const {
    const int64_t t = ms - started_;
    return (t > kWarm && t < kFailed) || t > kAgain + kWarm;
  }
  double LossAt(double step, double seed) const {
    return (ended_ ? 2.11 : 1.98) + 2.4 * std::exp(-step / 2600) + 3 * std::exp(-step / 300) +
           0.035 * Noise(step, seed);
  }

  v1::JobStatus MakeStatus() const {
    v1::JobStatus job;
    job.set_job_id(id_);
    job.set_phase(end_ms_ ? v1::JOB_PHASE_ENDED : v1::JOB_PHASE_RUNNING);
    job.set_chief_pid(getpid());
    job.set_started_ms(started_);
    job.set_ended_ms(end_ms_);
    for (const char* word : {"python", "train.py", "--lr", ended_ ? "1e-3" : "3e-4"}) {
      job.add_command(word);
    }
    job.set_log_folder(folder_);
    job.set_attempt_folder(attempt_folder_);
    job.set_attempt(attempt_);
    job.set_max_restarts(3);
    job.set_world_size(static_cast<uint32_t>(ranks()));
    job.set_processes(static_cast<uint32_t>(ranks()));
    job.set_exit_code(exit_code_);
    job.set_host("login1");
    for (int i = 0; i < nodes_; ++i) {
      v1::NodeStatus& node = *job.add_nodes();
      node.set_address("node" + std::to_string(i + 1));
      node.set_phase(v1::NODE_PHASE_RUNNING);
      node.set_ranks(kGpus);
      node.set_first_rank(static_cast<uint32_t>(i * kGpus));
    }
    return job;
  }

  void AddNode(v1::JobSnapshot& snapshot, int number, int64_t now) const {
    const bool away = away_.contains(number);
    v1::NodeSnapshot& node = *snapshot.add_nodes();
    node.set_address("node" + std::to_string(number + 1));
    node.set_phase(end_ms_ ? v1::NODE_PHASE_ENDED
                   : away  ? v1::NODE_PHASE_RECONNECTING
                           : v1::NODE_PHASE_RUNNING);
    if (away) node.set_detail("connection reset by peer (read)");
    node.set_last_contact_ms(away ? now - 9 * kSecond : now);
    for (int i = 0; i < kGpus; ++i) node.add_ranks(static_cast<uint32_t>(number * kGpus + i));
    v1::NodeSample& sample = *node.mutable_sample();
    const double beat = static_cast<double>(away ? 0 : now / 2000 % 10'000);
    v1::HostSample& host = *sample.mutable_host();
    host.set_cpu(0.24 + 0.04 * Noise(number, beat));
    host.set_cores(96);
    host.set_memory_used(212'000'000'000);
    host.set_memory_total(1'056'000'000'000);
    v1::InterfaceSample& link = *sample.add_interfaces();
    link.set_name("eth0");
    link.set_received((11.7 + Noise(number, beat)) * 1e9);
    link.set_sent((11.6 + Noise(number, beat + 1)) * 1e9);
    for (int i = 0; gpus_ && i < kGpus; ++i) AddGpu(sample, number, i, beat);
  }

  void AddGpu(v1::NodeSample& sample, int node, int index, double beat) const {
    const int rank = node * kGpus + index;
    const bool slow = slow_.contains(rank);
    v1::GpuSample& gpu = *sample.add_gpus();
    gpu.set_index(static_cast<uint32_t>(index));
    gpu.set_use(slow ? 0.99 : 0.94 + 0.05 * Noise(rank, beat));
    gpu.set_memory_used(static_cast<uint64_t>(61.4e9 + 1.2e9 * Noise(rank, 3)));
    gpu.set_memory_total(kMemory);
    gpu.set_power(slow ? 312 : 648 + 26 * Noise(rank, beat + 2));
    gpu.set_power_limit(700);
    gpu.set_temperature(std::round(61 + 5 * Noise(rank, 4)));
    gpu.set_clock(slow ? 1005 : 1980);
    gpu.set_clock_limit(1980);
    if (slow) gpu.add_throttled("HW power brake");
  }

  void AddRank(v1::JobSnapshot& snapshot, int number, int64_t now) const {
    const bool slow = slow_.contains(number);
    v1::RankSnapshot& rank = *snapshot.add_ranks();
    rank.set_rank(static_cast<uint32_t>(number));
    rank.set_node(static_cast<uint32_t>(number / kGpus));
    rank.set_local_rank(static_cast<uint32_t>(number % kGpus));
    if (gpus_) rank.add_gpus(static_cast<uint32_t>(number % kGpus));
    rank.set_name("rank " + std::to_string(number));
    rank.set_pid(48000 + number * 13);
    const double beat = static_cast<double>(now / 2000 % 10'000);
    if (failed_.contains(number)) {
      rank.set_state(v1::RANK_STATE_FAILED);
      rank.set_ended("exited with code 1: KeyError: 'label', train.py:24");
    } else if (end_ms_) {
      rank.set_state(v1::RANK_STATE_ENDED);
      rank.set_ended("exited with code 0");
    } else if (away_.contains(number / kGpus)) {
      rank.set_state(v1::RANK_STATE_DISCONNECTED);
    } else {
      rank.set_state(v1::RANK_STATE_RUNNING);
    }
    if (rank.state() == v1::RANK_STATE_RUNNING) {
      v1::RankSample& sample = *rank.mutable_sample();
      sample.set_cpu(gpus_ ? 1.3 + 0.2 * Noise(number, beat) : 11.2 + 2 * Noise(number, beat));
      sample.set_memory(18'400'000'000);
      sample.set_threads(58);
      sample.set_state("R");
      v1::Progress& progress = *rank.mutable_progress();
      progress.set_step(static_cast<uint64_t>(StepAt(now)));
      progress.set_rate(slow ? 1.47 : 2.06 + 0.03 * Noise(number, 6));
    }
    const auto said = last_lines_.find(number);
    rank.set_last_line(said != last_lines_.end() ? said->second : LineOf(number, 399));
    rank.set_last_output_ms(now - 400 - 40 * number);
  }

  void FillProgress(v1::Progress& progress, int64_t now) const {
    const double step = StepAt(now);
    progress.set_step(static_cast<uint64_t>(step));
    progress.set_total(kTotal);
    progress.set_rate(slow_.empty() ? kRate : 1.47);
    progress.set_eta((static_cast<double>(kTotal) - step) / progress.rate());
    progress.set_source("bar");
    progress.set_time_ms(now);
    v1::Metric& loss = *progress.add_metrics();
    loss.set_name("loss");
    loss.set_value(LossAt(std::floor(step), 1));
  }

  void AddEvents(v1::JobSnapshot& snapshot) const {
    const auto add = [&](int64_t t, uint32_t attempt, const std::string& what) -> v1::JobEvent& {
      v1::JobEvent& event = *snapshot.add_events();
      event.set_time_ms(started_ + t);
      event.set_attempt(attempt);
      event.set_what(what);
      return event;
    };
    add(0, 0, "job " + id_ + " is launched").set_job_phase(v1::JOB_PHASE_LAUNCHING);
    add(kWarm, 0, "all ranks run").set_job_phase(v1::JOB_PHASE_RUNNING);
    v1::JobEvent& failed = add(kFailed, 0, "rank 5 exited with code 1");
    failed.set_node("node3");
    failed.set_rank(5);
    add(kFailed, 0, "the job stops").set_job_phase(v1::JOB_PHASE_STOPPING);
    add(kFailed + 2000, 0, "restart 1 of 3").set_job_phase(v1::JOB_PHASE_RESTARTING);
    add(kAgain, 1, "all ranks run").set_job_phase(v1::JOB_PHASE_RUNNING);
    v1::JobEvent& cut = add(61 * kMinute, 1, "no answer: connection reset by peer");
    cut.set_node("node2");
    cut.set_node_phase(v1::NODE_PHASE_RECONNECTING);
    v1::JobEvent& back = add(61 * kMinute + 14 * kSecond, 1, "connected again after 14 s");
    back.set_node("node2");
    back.set_node_phase(v1::NODE_PHASE_RUNNING);
    for (const int rank : failed_) {
      v1::JobEvent& event = add(failed_ms_ - started_, 1, "rank exited with code 1");
      event.set_node("node" + std::to_string(rank / kGpus + 1));
      event.set_rank(static_cast<uint32_t>(rank));
    }
    if (end_ms_) {
      add(end_ms_ - started_, 1, "the job has ended").set_job_phase(v1::JOB_PHASE_ENDED);
    }
  }

  void AddIssues(v1::JobSnapshot& snapshot) const {
    const auto evidence = [](v1::Issue& issue, const char* what, const char* value,
                             const char* source, bool against = false) {
      v1::Evidence& piece = *issue.add_evidence();
      piece.set_what(what);
      piece.set_value(value);
      piece.set_source(source);
      piece.set_against(against);
    };
    for (const int rank : failed_) {
      v1::Issue& issue = *snapshot.add_issues();
      issue.set_kind(v1::Issue::KIND_FAILED);
      issue.add_ranks(static_cast<uint32_t>(rank));
      issue.set_since_ms(failed_ms_);
      issue.set_what("Rank " + std::to_string(rank) + " on node" +
                     std::to_string(rank / kGpus + 1) +
                     " exited with code 1: KeyError: 'label', train.py:24.");
      evidence(issue, "its last line", "KeyError: 'label'", "output");
    }
    for (const int rank : slow_) {
      v1::Issue& issue = *snapshot.add_issues();
      issue.set_kind(v1::Issue::KIND_SLOW);
      issue.add_ranks(static_cast<uint32_t>(rank));
      issue.set_since_ms(Now() - 4 * kMinute);
      issue.set_what("Rank " + std::to_string(rank) + " on node" +
                     std::to_string(rank / kGpus + 1) +
                     " is 1.4 × slower than the median: its GPU is throttled, power brake.");
      issue.set_cost(
          "The others wait for it 0.20 s in each step. The job runs at 71 % of the usual rate.");
      evidence(issue, "throttle reasons", "HW power brake without a break for 4 min", "nvidia-smi");
      evidence(issue, "clock", "1,005 MHz of 1,980; the others: 1,980", "nvidia-smi");
      evidence(issue, "power", "312 W of 700; the others: 648 W", "nvidia-smi");
      evidence(issue, "not the cause", "CPU 24 %, no ECC errors, no other process", "agent", true);
    }
    for (const int node : away_) {
      v1::Issue& issue = *snapshot.add_issues();
      issue.set_kind(v1::Issue::KIND_DISCONNECTED);
      issue.add_nodes(static_cast<uint32_t>(node));
      issue.set_what("Node" + std::to_string(node + 1) +
                     " has not answered for 9 s; its ranks continue, and autodist reconnects.");
    }
  }

  void AddPoint(v1::HistoryPoint& point, int64_t end) const {
    const double t = static_cast<double>((end - started_) / 1000);
    const bool trains = TrainsAt(end);
    point.set_time_ms(end);
    point.set_width_ms(10 * kSecond);
    point.set_attempt(end - started_ < kAgain ? 0 : 1);
    point.set_step(static_cast<uint64_t>(StepAt(end)));
    point.set_rate(trains ? kRate + 0.06 * Noise(t, 2) : 0);
    if (trains) {
      v1::Metric& loss = *point.add_metrics();
      loss.set_name("loss");
      loss.set_value(LossAt(StepAt(end), 1));
    }
    point.set_cpu(0.24 + 0.03 * Noise(t, 9));
    point.set_memory(212e9 + 4e9 * Noise(t, 10));
    point.set_received(trains ? (11.7 + 0.6 * Noise(t, 8)) * 1e9 : 1e7);
    point.set_sent(trains ? (11.6 + 0.6 * Noise(t, 7)) * 1e9 : 1e7);
    if (!gpus_) return;
    point.set_gpu_use(trains ? 0.95 + 0.02 * Noise(t, 3) : 0.02);
    point.set_gpu_memory(end - started_ < kWarm ? 5e8 : 61.4e9 + 4e8 * Noise(t, 5));
    point.set_gpu_power(trains ? 648 + 20 * Noise(t, 6) : 131);
  }

  const std::string id_;
  const std::string folder_;
  const int nodes_;
  const bool gpus_;
  const bool ended_;
  const Figures figures_;
  const int64_t started_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string attempt_folder_;
  uint32_t attempt_ = 1;
  uint64_t changes_ = 0;
  std::set<int> failed_, slow_, away_;
  std::map<int, std::string> last_lines_;
  int64_t failed_ms_ = 0;
  int64_t end_ms_ = 0;
  int exit_code_ = 0;
};

void Keep(const std::string& path, const google::protobuf::Message& message) {
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text).ok();
  std::ofstream(path) << text;
}

int Main(const std::vector<std::string>& words) {
  int nodes = 4;
  bool gpus = true;
  bool ended = false;
  Figures figures = Figures::kUsual;
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "--no-gpus") gpus = false;
    if (words[i] == "--ended") ended = true;
    if (words[i] == "--nodes") nodes = std::stoi(words[++i]);
    if (words[i] == "--figures") {
      figures = words[++i] == "zero" ? Figures::kZero : Figures::kUnknown;
    }
  }
  FakeJob job(words[0], words[1], nodes, gpus, ended, figures);
  if (ended) job.Do("end 0");
  if (!control::RecordJob(job.Status(), job.Status().log_folder()).ok()) return 1;
  const auto keep = [&] {
    Keep(words[1] + "/" + control::kSnapshotFile, job.Snapshot());
    Keep(words[1] + "/" + control::kHistoryFile, job.History(0));
  };
  if (ended) return keep(), 0;
  control::JobRequests requests;
  requests.signal = [&](int signal, const std::string&) {
    std::printf("signal %d\n", signal), std::fflush(stdout);
  };
  requests.get_status = [&](const auto& answer) { answer(job.Status()); };
  requests.get_stacks = [&](const auto&, const auto& answer) {
    v1::JobStacks stacks;
    v1::StackGroup& group = *stacks.add_groups();
    for (int rank = 0; rank < job.ranks(); ++rank) group.add_ranks(static_cast<uint32_t>(rank));
    group.set_doing("cudaStreamSynchronize");
    group.set_called_by("step (train.py:88)");
    answer(stacks);
  };
  requests.snapshots.diagnosis = [](const auto& answer) { answer(test::ExampleDiagnosis()); };
  requests.snapshots.snapshot = [&](const auto& request, const auto& answer) {
    answer(std::make_shared<const v1::JobSnapshot>(job.Snapshot(request.known())));
  };
  requests.snapshots.history = [&](const auto& request, const auto& answer) {
    answer(job.History(request.since_ms()));
  };
  auto server = control::JobServer::Start(words[0], requests);
  if (!server.ok()) return std::cerr << server.status() << "\n", 1;
  (*server)->Publish(job.Status());
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    job.Do(line);
    if (line.starts_with("end")) {
      keep();
      (void)control::SaveStatus(job.Status(), job.Status().log_folder()).ok();
      (*server)->End(job.Status());
    }
    std::cout << "done" << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace autodist

int main(int argc, char** argv) { return autodist::Main({argv + 1, argv + argc}); }
