// Runs one of autodist's shell scripts on another host, and parses the output.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "reach/login_retry_budget.h"
#include "transport/transport.h"

namespace autodist::reach {

// Runs argv and reads the output, which begins with a newline of ours, until `is_answered` returns
// anything but kNotFound, and returns that. Blocks for the login, then for `limit` at most, and
// again as the retry budget in `servers` permits. Errors include the standard error. kAborted: the
// login succeeds, but the answer does not come in time.
Status RunUntilAnswered(transport::Transport& transport, const std::vector<std::string>& argv,
                        const std::function<Status(std::string_view output)>& is_answered,
                        std::chrono::milliseconds limit, LoginRetryBudget& servers);

// The same with `read`, which parses the answer from all output so far. The output may begin with
// text of the login shell. kNotFound: the answer is incomplete.
template <typename Answer>
Result<Answer> RunLoginScript(transport::Transport& transport, const std::vector<std::string>& argv,
                              const std::function<Result<Answer>(std::string_view output)>& read,
                              std::chrono::milliseconds limit, LoginRetryBudget& servers) {
  Result<Answer> answer = Error(StatusCode::kUnknown, "no answer");
  const auto is_answered = [&](std::string_view output) {
    answer = read(output);
    return answer.status();
  };
  AD_RETURN_IF_ERROR(RunUntilAnswered(transport, argv, is_answered, limit, servers));
  return answer;
}

}  // namespace autodist::reach
