#include "chief/ask_devices.h"

#include <array>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "base/parallel.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

constexpr size_t kAskedAtOnce = 64;
constexpr size_t kMostOutput = 1 << 20;  // bytes that a login shell may print first
constexpr milliseconds kStderrLimit{500};
constexpr std::string_view kMarker = "\nAUTODIST-DEVICES ";

// The driver's own list is right without any tool; containers see it through nvidia-smi alone.
constexpr char kScript[] =
    "n=0; for d in /proc/driver/nvidia/gpus/*/; do if [ -d \"$d\" ]; then n=$((n + 1)); fi; done; "
    "if [ \"$n\" -eq 0 ]; then n=$(nvidia-smi -L 2>/dev/null | grep -c \"^GPU \"); fi; "
    "printf \"\\nAUTODIST-DEVICES %d %d\\n\" \"$n\" \"$(getconf _NPROCESSORS_ONLN)\"";

// Requests a stop when the time is over, unless destroyed first.
class Alarm {
 public:
  Alarm(base::Deadline deadline, std::stop_source target)
      : thread_([deadline, target = std::move(target)](const std::stop_token& ended) mutable {
          std::mutex mutex;
          std::condition_variable_any never;
          std::unique_lock lock(mutex);
          never.wait_until(lock, ended, deadline.when(), [] { return false; });
          if (!ended.stop_requested()) target.request_stop();
        }) {}

 private:
  std::jthread thread_;
};

Status TooSlow(milliseconds limit) {
  return WithRemedy(Error(StatusCode::kDeadlineExceeded,
                          "no answer within " + std::to_string(limit.count()) + " ms"),
                    "is the machine up, and does 'ssh HOST true' end quickly from here?");
}

Status NoAnswer(const transport::Stream& stream, const Status& why) {
  if (!stream.Failure().ok()) return stream.Failure();
  std::string said = stream.StderrTail();
  while (said.ends_with('\n')) said.pop_back();
  return WithRemedy(Error(why.code(), said.empty() ? Message(why) : Message(why) + ": " + said),
                    "does a login shell (ssh HOST true) end without error there?");
}

Result<Devices> AwaitAnswer(transport::Stream& stream, base::Deadline deadline) {
  const base::UniqueFd socket = stream.TakeSocket();
  std::string output = "\n";  // so that the marker may be the first of it
  std::array<char, 4096> buffer;
  for (;;) {
    const auto got = base::ReadSome(socket.get(), buffer.data(), buffer.size(), deadline);
    if (!got.ok()) return NoAnswer(stream, got.status());
    if (*got == 0) {
      stream.WaitClosed(base::Deadline::After(kStderrLimit));  // so that stderr is complete
      return NoAnswer(stream, Error(StatusCode::kNotFound, "it ended without an answer"));
    }
    output.append(buffer.data(), *got);
    auto devices = ReadDevices(output);
    if (devices.ok() || devices.status().code() != StatusCode::kNotFound) return devices;
    if (output.size() > kMostOutput) {
      return NoAnswer(stream,
                      Error(StatusCode::kResourceExhausted, "the login shell prints without end"));
    }
  }
}

Result<Devices> Ask(size_t host, const TransportTo& transport_to, milliseconds limit) {
  const base::Deadline deadline = base::Deadline::After(limit);
  std::stop_source stop;
  const Alarm alarm(deadline, stop);
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<transport::Transport> transport, transport_to(host));
  auto stream = transport->Run({"/bin/sh", "-c", kScript}, stop.get_token());
  if (!stream.ok() && stop.stop_requested()) return TooSlow(limit);
  AD_RETURN_IF_ERROR(stream.status());
  auto devices = AwaitAnswer(**stream, deadline);
  if (devices.status().code() == StatusCode::kDeadlineExceeded) return TooSlow(limit);
  return devices;
}

}  // namespace

Result<Devices> ReadDevices(std::string_view output) {
  const Status incomplete = Error(StatusCode::kNotFound, "no answer");
  const size_t marker = output.rfind(kMarker);
  if (marker == std::string_view::npos) return incomplete;
  std::string_view line = output.substr(marker + kMarker.size());
  const size_t end = line.find('\n');
  if (end == std::string_view::npos) return incomplete;
  line = line.substr(0, end);

  Devices devices;
  const char* const stop = line.data() + line.size();
  const auto gpus = std::from_chars(line.data(), stop, devices.gpus);
  const bool space = gpus.ec == std::errc() && gpus.ptr != stop && *gpus.ptr == ' ';
  const auto cpus = std::from_chars(space ? gpus.ptr + 1 : stop, stop, devices.cpus);
  if (cpus.ec == std::errc() && cpus.ptr == stop) return devices;
  return Error(StatusCode::kInternal, "the answer makes no sense");
}

std::vector<Result<Devices>> AskDevices(size_t hosts, const TransportTo& transport_to,
                                        milliseconds limit) {
  std::vector<Result<Devices>> answers(hosts, Error(StatusCode::kUnknown, "not asked"));
  base::ParallelFor(hosts, kAskedAtOnce,
                    [&](size_t host) { answers[host] = Ask(host, transport_to, limit); });
  return answers;
}

}  // namespace autodist::chief
