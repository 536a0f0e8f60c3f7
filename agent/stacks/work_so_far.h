// The work that a process has done so far: comparing two reports shows whether it worked meanwhile.
#pragma once

#include <sys/types.h>

#include <string>

#include "agent/stacks/tcp_traffic.h"

namespace autodist::agent {

// Formats "by 81234567 ms: CPU 5120 ms, main thread 4000 ms, data 40960 bytes": the time by a clock
// of this machine; the CPU time of all threads and ended children, except NCCL's busy-waiting
// threads; the bytes read and written by files, pipes and TCP. Then a line for each other machine
// with retransmissions: "sent again to 10.0.0.3: 4 of 170 segments, unanswered 2", where the last
// number is that of the oldest segment. "": the process has ended.
std::string WorkSoFar(pid_t pid, const TcpTraffic& traffic);

}  // namespace autodist::agent
