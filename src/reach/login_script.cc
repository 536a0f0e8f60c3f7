#include "reach/login_script.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/quantity.h"
#include "base/thread.h"

namespace autodist::reach {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr size_t kMaxOutput = 256 << 10;  // all are searched after each read
constexpr milliseconds kStderrLimit{500};

// Requests a stop at the deadline, unless the thread is stopped first.
Result<std::jthread> StartAlarm(Deadline deadline, std::stop_source target) {
  return base::StartThread(
      [deadline, target = std::move(target)](const std::stop_token& ended) mutable {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        never.wait_until(lock, ended, deadline.when(), [] { return false; });
        if (!ended.stop_requested()) target.request_stop();
      });
}

Status TooSlow(milliseconds limit) {
  return WithRemedy(
      Error(StatusCode::kDeadlineExceeded, "no answer within " + base::Seconds(limit)),
      "check that the machine is up and that `ssh HOST true` returns quickly");
}

// Adds the standard error to the failure, or the reason why it is missing.
Status WithWhatItSaid(const transport::Stream& stream, const Status& failure) {
  if (!stream.Failure().ok()) return stream.Failure();
  std::string said = stream.StderrTail();
  while (said.ends_with('\n')) said.pop_back();
  return Error(failure.code(), said.empty() ? Message(failure) : Message(failure) + ": " + said);
}

Status NoAnswer(const transport::Stream& stream, const Status& why) {
  if (!stream.Failure().ok()) return stream.Failure();
  return WithRemedy(WithWhatItSaid(stream, why), "check that `ssh HOST true` exits without error");
}

Status AwaitAnswer(transport::Stream& stream,
                   const std::function<Status(std::string_view output)>& is_answered,
                   Deadline deadline) {
  const base::UniqueFd socket = stream.TakeSocket();
  std::string output = "\n";
  std::array<char, 16384> buffer;
  for (;;) {
    const auto got = base::ReadSome(socket.get(), buffer.data(), buffer.size(), deadline);
    if (!got.ok()) return NoAnswer(stream, got.status());
    if (*got == 0) {
      stream.WaitClosed(Deadline::After(kStderrLimit));  // to complete stderr
      return NoAnswer(stream, Error(StatusCode::kNotFound, "it ended without an answer"));
    }
    output.append(buffer.data(), *got);
    Status answer = is_answered(output);
    if (answer.ok()) return answer;
    if (answer.code() != StatusCode::kNotFound) return WithWhatItSaid(stream, answer);
    if (output.size() > kMaxOutput) {
      return NoAnswer(stream,
                      Error(StatusCode::kUnavailable, "the login shell prints without end"));
    }
  }
}

Status RunOnce(transport::Transport& transport, const std::vector<std::string>& argv,
               const std::function<Status(std::string_view output)>& is_answered,
               milliseconds limit) {
  const Deadline deadline = Deadline::After(limit);
  std::stop_source stop;
  AD_ASSIGN_OR_RETURN(const std::jthread alarm, StartAlarm(deadline, stop));
  auto stream = transport.Run(argv, stop.get_token());
  if (!stream.ok() && stop.stop_requested()) return TooSlow(limit);
  AD_RETURN_IF_ERROR(stream.status());
  Status answer = AwaitAnswer(**stream, is_answered, deadline);
  return answer.code() == StatusCode::kDeadlineExceeded ? TooSlow(limit) : answer;
}

}  // namespace

Status RunUntilAnswered(transport::Transport& transport, const std::vector<std::string>& argv,
                        const std::function<Status(std::string_view output)>& is_answered,
                        milliseconds limit, LoginRetryBudget& servers) {
  const auto run = [&] { return RunOnce(transport, argv, is_answered, limit); };
  Status status = TryToLogIn(run, IsBusy, [&] { return servers.limit(); }, {});
  if (status.ok()) servers.GotIn();
  return status;
}

}  // namespace autodist::reach
