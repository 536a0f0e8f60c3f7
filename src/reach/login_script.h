// Runs a shell script of ours on another host, and reads its answer from what it prints.
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

// Runs it and reads its output, which begins with a newline that is ours, until `is_answered` is
// not kNotFound any more, and returns that. Blocks until then, for no longer than the limit, and
// the time for which `servers` may be busy. Errors tell what was written to standard error.
Status RunUntilAnswered(transport::Transport& transport, const std::vector<std::string>& argv,
                        const std::function<Status(std::string_view output)>& is_answered,
                        std::chrono::milliseconds limit, LoginRetryBudget& servers);

// The same where `read` makes the answer of all the output so far, of which the first part may be
// the login shell's; kNotFound: the answer is not complete.
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
