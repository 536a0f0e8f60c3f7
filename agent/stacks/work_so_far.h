// What a process has done so far: two looks show whether it was at work in between.
#pragma once

#include <sys/types.h>

#include <string>

#include "agent/stacks/tcp_traffic.h"

namespace autodist::agent {

// "by 81234567 ms: CPU 5120 ms, main thread 4000 ms, data 40960 bytes": when, by a clock of this
// machine; of all threads and of children that have ended, but without NCCL's, which look for data
// without a rest; what it has read and written, by files, pipes and TCP. Then a line for each other
// machine to which something had to be sent again: "sent again to 10.0.0.3: 4 of 170 segments,
// unanswered 2", the last number being how often the oldest of them was. "": it has ended.
std::string WorkSoFar(pid_t pid, const TcpTraffic& traffic);

}  // namespace autodist::agent
