#include "agent/sample/gpus.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>

#include "agent/prepare/gpus.h"
#include "base/random.h"

namespace autodist::agent {
namespace {

constexpr uint64_t kMebi = 1 << 20;

// Rejects "[N/A]", "[Not Supported]" and "[Unknown Error]".
std::optional<double> Amount(std::string_view value) {
  const auto number = ParseNumber<double>(value);
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

template <void (v1::GpuSample::*set)(double)>
void TakeAmount(std::string_view value, GpuRow& row) {
  if (const auto number = Amount(value)) (row.gpu.*set)(*number);
}

template <void (v1::GpuSample::*set)(uint64_t)>
void TakeMebibytes(std::string_view value, GpuRow& row) {
  if (const auto number = ParseNumber<uint32_t>(value)) (row.gpu.*set)(*number * kMebi);
}

void TakeIndex(std::string_view value, GpuRow& row) {
  row.gpu.set_index(ParseNumber<uint32_t>(value).value_or(0));
}
void TakeUuid(std::string_view value, GpuRow& row) { row.gpu.set_uuid(std::string(value)); }
void TakePlace(std::string_view value, GpuRow& row) { row.place = health::ParsePciPlace(value); }
void TakeUse(std::string_view value, GpuRow& row) {
  if (const auto percent = Amount(value)) row.gpu.set_use(std::min(*percent / 100, 1.0));
}
void TakeErrors(std::string_view value, GpuRow& row) {
  if (const auto errors = ParseNumber<uint64_t>(value)) row.gpu.set_ecc_errors(*errors);
}
void TakeReasons(std::string_view value, GpuRow& row) {
  if (!value.starts_with("0x")) return;
  const auto mask = ParseNumber<uint64_t>(value.substr(2), 16);
  for (std::string& reason : ThrottleReasons(mask.value_or(0))) {
    row.gpu.add_throttled(std::move(reason));
  }
}

// "[N/A]" and the like are unknown, but not "[GPU requires reset]".
bool IsKnown(std::string_view value) {
  return !value.starts_with('[') || value.starts_with("[GPU ");
}

using std::chrono::milliseconds;

constexpr milliseconds kFieldsLimit{20'000};  // waking a GPU takes time
constexpr milliseconds kFieldsLook{100};      // the interval of checks for an answer
constexpr size_t kLargestGpuText = 1 << 20;   // bytes
// The age up to which a reading is sent, or three intervals if that is longer: nvidia-smi is slow,
// and may hang.
constexpr milliseconds kFresh{5'000};

}  // namespace

// A field with its names, the newest first.
struct GpuFields::Known {
  std::array<const char*, 2> names;
  void (*take)(std::string_view value, GpuRow& row);
  const char* path = nullptr;
};

GpuFields::GpuFields(std::string_view help) {
  static constexpr Known kIndex = {{"index", nullptr}, TakeIndex};
  static constexpr Known kKnown[] = {
      kIndex,
      {{"uuid", "gpu_uuid"}, TakeUuid},
      {{"pci.bus_id", "gpu_bus_id"}, TakePlace},
      {{"utilization.gpu", nullptr}, TakeUse},
      {{"memory.used", nullptr}, TakeMebibytes<&v1::GpuSample::set_memory_used>},
      {{"memory.total", nullptr}, TakeMebibytes<&v1::GpuSample::set_memory_total>},
      {{"power.draw", nullptr}, TakeAmount<&v1::GpuSample::set_power>},
      {{"power.limit", nullptr}, TakeAmount<&v1::GpuSample::set_power_limit>},
      {{"temperature.gpu", nullptr}, TakeAmount<&v1::GpuSample::set_temperature>},
      {{"clocks.sm", "clocks.current.sm"}, TakeAmount<&v1::GpuSample::set_clock>},
      {{"clocks.max.sm", nullptr}, TakeAmount<&v1::GpuSample::set_clock_limit>},
      {{"clocks_event_reasons.active", "clocks_throttle_reasons.active"}, TakeReasons},
      {{"ecc.errors.uncorrected.volatile.total", nullptr},
       TakeErrors,
       "ecc_errors/volatile/uncorrected"},
      {{"gpu_recovery_action", nullptr}, nullptr, "gpu_recovery_action"},
      {{"reset_status.reset_required", nullptr}, nullptr, "gpu_reset_status/reset_required"},
      {{"reset_status.drain_and_reset_recommended", nullptr},
       nullptr,
       "gpu_reset_status/drain_and_reset_recommended"},
      {{"remapped_rows.pending", nullptr}, nullptr, "remapped_rows/remapped_row_pending"},
      {{"remapped_rows.failure", nullptr}, nullptr, "remapped_rows/remapped_row_failure"},
      {{"retired_pages.pending", nullptr}, nullptr, "retired_pages/pending_retirement"},
  };
  for (const Known& field : kKnown) {
    for (const char* name : field.names) {
      if (!name || help.find('"' + std::string(name) + '"') == std::string_view::npos) continue;
      fields_.push_back({name, field.take, field.path});
      break;
    }
  }
  usable_ = !fields_.empty() && fields_.front().take == kIndex.take;
}

std::string GpuFields::Query() const {
  std::string query = "--query-gpu=";
  for (const Field& field : fields_)
    query += (query.back() == '=' ? "" : ",") + std::string(field.name);
  return query;
}

std::optional<GpuRow> GpuFields::Parse(std::string_view row) const {
  constexpr std::string_view kSeparator = ", ";
  if (!usable_ || !ParseNumber<uint32_t>(row.substr(0, row.find(kSeparator)))) return std::nullopt;
  GpuRow reading;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const size_t end = row.find(kSeparator);
    const bool is_last = i + 1 == fields_.size();
    if (is_last != (end == std::string_view::npos)) return std::nullopt;
    const std::string_view value = row.substr(0, end);
    if (fields_[i].take) fields_[i].take(value, reading);
    if (fields_[i].path && IsKnown(value)) {
      reading.description.values.emplace(fields_[i].path, value);
    }
    row.remove_prefix(is_last ? row.size() : end + kSeparator.size());
  }
  return reading;
}

std::vector<std::string> ThrottleReasons(uint64_t mask) {
  constexpr uint64_t kIdle = 0x1;
  constexpr uint64_t kHwSlowdown = 0x8;
  constexpr uint64_t kHwThermal = 0x40;
  constexpr uint64_t kHwPowerBrake = 0x80;
  static constexpr std::pair<uint64_t, const char*> kNames[] = {{kHwPowerBrake, "HW power brake"},
                                                                {kHwThermal, "HW thermal slowdown"},
                                                                {kHwSlowdown, "HW slowdown"},
                                                                {0x20, "SW thermal slowdown"},
                                                                {0x4, "SW power cap"},
                                                                {0x10, "sync boost"},
                                                                {0x2, "applications clocks"},
                                                                {0x100, "display clocks"}};
  std::vector<std::string> reasons;
  // The generic reason is redundant if the hardware reports a specific one.
  if ((mask & (kHwThermal | kHwPowerBrake)) != 0) mask &= ~kHwSlowdown;
  mask &= ~kIdle;
  for (const auto& [bit, name] : kNames) {
    if ((mask & bit) != 0) reasons.emplace_back(name);
    mask &= ~bit;
  }
  if (mask != 0) reasons.emplace_back("reason " + std::to_string(mask));
  return reasons;
}

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
