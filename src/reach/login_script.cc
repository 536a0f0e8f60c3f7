#include "reach/login_script.h"

#include <array>

#include "base/deadline.h"
#include "base/fd.h"
#include "transport/reach_causes.h"

namespace autodist::reach {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr size_t kMaxOutput = 256 << 10;  // all are searched after each read
constexpr milliseconds kStderrLimit{500};

std::string EndOfErrors(const transport::Stream& stream) {
  std::string said = stream.StderrTail();
  while (said.ends_with('\n')) said.pop_back();
  return said;
}

// The script has not answered, and its output is that of the login alone.
Status NoAnswer(const transport::Stream& stream, const std::string& output) {
  AD_RETURN_IF_ERROR(stream.FailureIn(output));
  return transport::CommandNotRun(output + EndOfErrors(stream));
}

Status AwaitAnswer(transport::Stream& stream,
                   const std::function<Status(std::string_view output)>& is_answered,
                   milliseconds limit) {
  const base::UniqueFd socket = stream.TakeSocket();
  const Deadline deadline = Deadline::After(limit);
  std::string output = "\n";
  std::array<char, 16384> buffer;
  for (;;) {
    const auto got = base::ReadSome(socket.get(), buffer.data(), buffer.size(), deadline);
    if (got.status().code() == StatusCode::kDeadlineExceeded) {
      return transport::CommandLate(transport::cause::kNoAnswer,
                                    output.substr(1) + EndOfErrors(stream), limit);
    }
    if (!got.ok() || *got == 0) {
      stream.WaitClosed(Deadline::After(kStderrLimit));  // to complete stderr
      return NoAnswer(stream, output);
    }
    output.append(buffer.data(), *got);
    const Status answer = is_answered(output);
    if (answer.code() != StatusCode::kNotFound) {
      const std::string said = answer.ok() ? "" : EndOfErrors(stream);
      return said.empty() ? answer
                          : Status(answer.code(), Message(answer) + ": " + said, Remedy(answer));
    }
    AD_RETURN_IF_ERROR(transport::EndOfLogin(output));
    if (output.size() > kMaxOutput) return transport::CauseError(transport::cause::kEndlessOutput);
  }
}

}  // namespace

Status RunUntilAnswered(transport::Transport& transport, const std::vector<std::string>& argv,
                        const std::function<Status(std::string_view output)>& is_answered,
                        milliseconds limit, LoginRetryBudget& servers) {
  const auto run = [&]() -> Status {
    AD_ASSIGN_OR_RETURN(const auto stream, transport.Run(argv, {}));
    return transport::WithLogin(AwaitAnswer(*stream, is_answered, limit), stream->login());
  };
  Status status = TryToLogIn(run, IsBusy, [&] { return servers.limit(); }, {});
  if (status.ok()) servers.GotIn();
  return status;
}

}  // namespace autodist::reach
