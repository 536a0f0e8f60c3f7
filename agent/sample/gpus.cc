#include "agent/sample/gpus.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "agent/prepare/gpus.h"
#include "agent/sample/text.h"
#include "base/random.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFieldsLimit{20'000};  // waking a GPU takes time
constexpr milliseconds kFieldsLook{100};      // the interval of checks for an answer
constexpr size_t kLargestGpuText = 1 << 20;   // bytes
// The age up to which a reading is sent, or three intervals if that is longer: nvidia-smi is slow,
// and may hang.
constexpr milliseconds kFresh{5'000};

}  // namespace

GpuReader::GpuReader(GpuPlan plan, Supervisor& supervisor)
    : plan_(std::move(plan)), supervisor_(supervisor), backoff_(base::RandomNumber(), kMaxWait) {
  if (plan_.indices.empty()) return;
  const auto program = FindNvidiaSmi(plan_.environment, plan_.working_directory);
  if (!program.ok()) return;
  program_ = *program;
  Start(State::kFields, {program_, "--help-query-gpu"});
}

GpuReader::~GpuReader() { End(); }

void GpuReader::Start(State state, std::vector<std::string> argv) {
  state_ = state;
  text_.clear();
  auto pipe = base::Pipe();
  if (!pipe.ok() || !base::SetNonBlocking(pipe->first.get()).ok()) return Wait();
  output_ = std::move(pipe->first);
  process::SpawnRequest request;
  request.argv = std::move(argv);
  request.environment =
      (jobs_libraries_ ? plan_.environment : plan_.environment.ForOurPrograms()).ToStrings();
  request.working_directory = "/";
  request.stdout_fd = pipe->second.get();
  run_ = supervisor_.Run(std::move(request), std::move(pipe->second)).id;
  limit_ = state == State::kFields ? base::Deadline::After(kFieldsLimit) : base::Deadline::Never();
  next_look_ =
      state == State::kFields ? base::Deadline::After(kFieldsLook) : base::Deadline::Never();
}

void GpuReader::End() {
  if (run_ != 0) supervisor_.KillRun(std::exchange(run_, 0));
  output_.Reset();
}

void GpuReader::Wait() {
  End();
  jobs_libraries_ = !jobs_libraries_;
  state_ = State::kWaiting;
  next_look_ = base::Deadline::After(backoff_.Next());
}

bool GpuReader::TakeOutput() {
  char piece[16 << 10];
  for (;;) {
    const ssize_t got = read(output_.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text_.append(piece, static_cast<size_t>(got));
    if (text_.size() > kLargestGpuText) return true;
    if (state_ != State::kRows) continue;
    std::string_view rest = text_;
    while (rest.find('\n') != std::string_view::npos) TakeRow(TakeLine(rest));
    text_.erase(0, text_.size() - rest.size());
  }
}

void GpuReader::TakeRow(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::optional<GpuRow> row = fields_->Parse(line);
  if (!row) return TakeFailure(line);
  if (!plan_.indices.contains(row->gpu.index())) return;
  backoff_ = base::Backoff(base::RandomNumber(), kMaxWait);
  const uint32_t index = row->gpu.index();
  for (health::Fault& fault : health::FindInGpu(row->description, index)) {
    row->gpu.add_faults(std::move(fault.what));
  }
  readings_[index] = {*std::move(row), SampleTime::clock::now()};
}

void GpuReader::TakeFailure(std::string_view line) {
  for (const health::Fault& fault : health::FindInFailure(line)) {
    const auto place = health::PlaceOf(fault);
    for (auto& [index, reading] : readings_) {
      if (!place || reading.row.place != place) continue;
      GpuRow lost{{}, place, {}};
      lost.gpu.set_index(index);
      lost.gpu.set_uuid(reading.row.gpu.uuid());
      lost.gpu.add_faults(fault.what);
      reading = {std::move(lost), SampleTime::clock::now() + 2 * kMaxWait};  // until it is repeated
    }
  }
}

void GpuReader::Update() {
  if (state_ == State::kWaiting && next_look_.Expired()) {
    return Start(State::kFields, {program_, "--help-query-gpu"});
  }
  if (state_ == State::kFields) {
    const bool ended = TakeOutput();
    next_look_ = base::Deadline::After(kFieldsLook);
    if (!ended) return limit_.Expired() ? Wait() : void();
    fields_.emplace(text_);
    if (!fields_->usable()) return Wait();
    std::string ids;
    for (const uint32_t index : plan_.indices)
      ids += (ids.empty() ? "" : ",") + std::to_string(index);
    return Start(State::kRows,
                 {program_, "-i", ids, fields_->Query(), "--format=csv,noheader,nounits", "-lms",
                  std::to_string(plan_.interval.count())});
  }
  if (state_ == State::kRows && TakeOutput()) Wait();
}

void GpuReader::Read(const std::function<bool(pid_t pid)>& is_jobs, v1::NodeSample& sample) {
  if (program_.empty()) return;
  Update();
  xids_.Read(is_jobs);
  const SampleTime oldest = SampleTime::clock::now() - std::max(kFresh, 3 * plan_.interval);
  for (const auto& [index, reading] : readings_) {
    const auto xid = reading.row.place ? xids_.Last(*reading.row.place) : std::nullopt;
    const bool is_fresh = reading.time >= oldest;
    if (!is_fresh && !xid) continue;
    v1::GpuSample& gpu = *sample.add_gpus();
    gpu.set_index(index);
    gpu.set_uuid(reading.row.gpu.uuid());
    if (is_fresh) gpu = reading.row.gpu;
    if (xid) gpu.set_xid(*xid);
  }
}

}  // namespace autodist::agent
