#include "chief/snapshot/job_status_recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/host_name.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "chief/policy/restart_policy.h"
#include "json/plain_json.h"

namespace autodist::chief {
namespace {

v1::NodeStatus StatusOf(uint32_t node, const Fleet& nodes, const v1::LaunchPlan& job) {
  v1::NodeStatus status;
  status.set_address(job.nodes(static_cast<int>(node)).address());
  status.set_phase(nodes.state(node).phase());
  status.set_detail(base::PrintableLines(nodes.state(node).detail()));
  return status;
}

void AddRanks(const v1::NodePlan& planned, v1::NodeStatus& status) {
  for (const v1::RankPlan& process : planned.ranks()) {
    if (process.auxiliary()) {
      status.add_auxiliary(process.rank());
      continue;
    }
    if (status.ranks() == 0) status.set_first_rank(process.rank());
    status.set_ranks(status.ranks() + 1);
  }
}

}  // namespace

Result<std::unique_ptr<EventLog>> EventLog::Create(const base::LogFolder& folder, Loop& loop) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd file,
                      folder.OpenFile("events.jsonl", O_WRONLY | O_CREAT | O_APPEND));
  return std::unique_ptr<EventLog>(new EventLog(loop, std::move(file)));
}

void EventLog::Record(v1::JobEvent event) {
  event.set_time_ms(base::MillisecondsSince1970());
  event.set_what(base::ToUtf8(event.what()));
  std::string line = json::PlainJson(event);
  ++recorded_;
  last_.push_back(std::move(event));
  if (last_.size() > kLast) last_.pop_front();
  line += '\n';
  loop_.InBackground([this, line = std::move(line)] { Write(line); });
}

void EventLog::Write(const std::string& line) {
  if (cut_short_) return;
  const Status written = base::WriteAll(file_.get(), line, base::Deadline::Never());
  if (written.ok()) return;
  cut_short_ = true;
  const bool empty = lseek(file_.get(), 0, SEEK_END) == 0;
  base::Log(base::LogLevel::kWarning, std::string("events.jsonl ") +
                                          (empty ? "cannot be written: " : "is cut short: ") +
                                          Message(written));
}

std::string TypedJson(std::string_view type, const google::protobuf::Message& message) {
  return "{\"type\":\"" + std::string(type) + "\"," + json::PlainJson(message).substr(1);
}

JobStatusRecorder::JobStatusRecorder(const v1::LaunchPlan& plan, const JobOptions& options,
                                     Loop& loop)
    : job_(plan), log_folder_(options.log_folder), options_(options), loop_(loop) {
  status_.set_job_id(plan.job_id());
  status_.set_name(options.request().name());
  status_.set_chief_pid(getpid());
  status_.set_host(base::HostName());
  status_.set_log_folder(std::filesystem::absolute(log_folder_.path()));
  status_.set_detached(options.request().detach());
  status_.set_started_ms(base::MillisecondsSince1970());
  status_.set_working_directory(plan.working_directory());
  status_.set_max_restarts(options.request().max_restarts());
  const auto nodes = static_cast<uint32_t>(plan.nodes_size());
  status_.set_may_restart(RestartLimitsOf(options.request(), nodes).MayRestart());
  *status_.mutable_command() = options.request().program();
}

Status JobStatusRecorder::Open() {
  AD_ASSIGN_OR_RETURN(log_, EventLog::Create(log_folder_, loop_));
  v1::JobStart start;
  start.set_job_id(status_.job_id());
  start.set_name(status_.name());
  start.set_started_ms(status_.started_ms());
  start.set_log_folder(status_.log_folder());
  start.set_world_size(job_.world_size());
  *start.mutable_command() = status_.command();
  Print("start", start);
  return OkStatus();
}

void JobStatusRecorder::Print(std::string_view type,
                              const google::protobuf::Message& message) const {
  if (!options_.print_json) return;
  options_.print_json(TypedJson(type, message));
}

void JobStatusRecorder::EnterPhase(v1::JobPhase phase, const std::string& why) {
  if (status_.phase() == phase) return;
  repeats_.End([this](const Kind& kind, size_t count) { RecordMore(kind, count); });
  status_.set_phase(phase);
  v1::JobEvent event;
  event.set_job_phase(phase);
  event.set_what(why);
  Record(std::move(event));
}

void JobStatusRecorder::BeginAttempt(const Attempt& attempt) {
  status_.set_attempt(attempt.number());
  status_.set_world_size(attempt.plan().world_size());
  status_.set_processes(attempt.processes());
  status_.set_attempt_folder(std::filesystem::absolute(attempt.folder()));
}

void JobStatusRecorder::Ended(int exit_code, const std::string& report, int64_t last_output_ms) {
  status_.set_exit_code(exit_code);
  status_.set_report(base::PrintableLines(report));
  status_.set_ended_ms(base::MillisecondsSince1970());
  status_.set_last_output_ms(last_output_ms);
  EnterPhase(v1::JOB_PHASE_ENDED, report);
}

void JobStatusRecorder::Record(v1::JobEvent event) {
  const auto more = [this](const Kind& kind, size_t count) { RecordMore(kind, count); };
  const bool of_one = event.has_rank() || !event.node().empty();
  if (of_one && repeats_.Add({event.has_rank(), event.node_phase(), event.what()}, loop_.Now(),
                             more) > repeats_.kMax) {
    return;
  }
  Keep(std::move(event));
}

void JobStatusRecorder::Keep(v1::JobEvent event) {
  event.set_attempt(status_.attempt());
  event.set_time_ms(base::MillisecondsSince1970());
  event.set_what(base::PrintableLines(event.what()));
  Print("event", event);
  if (log_) log_->Record(std::move(event));
}

void JobStatusRecorder::RecordMore(const Kind& kind, size_t count) {
  v1::JobEvent event;
  event.set_node(base::Count(count, kind.of_rank ? "more rank" : "more node"));
  event.set_node_phase(kind.phase);
  event.set_what(kind.what);
  Keep(std::move(event));
}

void JobStatusRecorder::Record(const std::string& what, const std::string& node) {
  v1::JobEvent event;
  event.set_node(node);
  event.set_what(what);
  Record(std::move(event));
}

v1::JobStatus JobStatusRecorder::StatusNow(const Fleet& nodes, const Attempt& attempt,
                                           int64_t last_output_ms) const {
  v1::JobStatus now = status_;
  now.set_last_output_ms(last_output_ms);
  now.mutable_nodes()->Reserve(static_cast<int>(nodes.size()));
  for (uint32_t i = 0; i < nodes.size(); ++i) *now.add_nodes() = StatusOf(i, nodes, job_);
  const std::vector<uint32_t>& running = attempt.state().running_by_node();
  for (uint32_t member = 0; member < attempt.nodes().size(); ++member) {
    v1::NodeStatus& status = *now.mutable_nodes(static_cast<int>(attempt.nodes()[member]));
    AddRanks(attempt.member_plan(member), status);
    status.set_running_ranks(running[member]);
  }
  return now;
}

void JobStatusRecorder::Publish(const Fleet& nodes, const Attempt& attempt) {
  published_ = StatusNow(nodes, attempt, status_.last_output_ms());
  if (options_.on_status) options_.on_status(published_);
}

}  // namespace autodist::chief
