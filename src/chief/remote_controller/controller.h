// The chief of a run that was typed on another machine, as it is started on its node.
#pragma once

#include <string>

namespace autodist::chief {

// Says that it is there, reads a v1::JobRequest from stdin, and starts that run;
// what that says goes to stdout, and then its exit code
// (chief/remote_controller/controller_lines.h). When stdin ends before, it ends that run. Returns
// the exit code. In a process without other threads.
int StartRemoteController(const std::string& nonce);

}  // namespace autodist::chief
