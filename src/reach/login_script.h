// A script of ours that is run by a login on another host, and its answer.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "transport/transport.h"

namespace autodist::reach {

// Given all of the output so far, of which the first part may be the login shell's. kNotFound: the
// answer is not complete; anything else is the outcome.
using ReadAnswer = std::function<Status(std::string_view output)>;

// Runs it and reads its output, which begins with a newline that is ours, until the answer is
// complete. Blocks until then, for no longer than the limit. Errors tell what was written to
// standard error.
Status RunLoginScript(transport::Transport& transport, const std::vector<std::string>& argv,
                      const ReadAnswer& read_answer, std::chrono::milliseconds limit);

}  // namespace autodist::reach
