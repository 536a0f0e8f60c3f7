// Runs on a node as the chief of a run that was started on another machine.
#pragma once

#include <string>

namespace autodist::chief {

// Writes the ready line, reads a v1::JobRequest from stdin, and starts that run. Writes its output
// and then its exit code to stdout (chief/remote_controller/controller_lines.h). If stdin closes,
// ends the run. Returns the exit code. Called in a process without other threads.
int StartRemoteController(const std::string& nonce);

}  // namespace autodist::chief
