// The stacks of a rank's processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_set>

#include "agent/stacks/stack_programs.h"
#include "agent/stacks/tcp_sockets.h"
#include "agent/supervisor/supervisor.h"
#include "process/environment.h"

namespace autodist::agent {

// The work that a process has done so far: comparing two reports shows whether it worked meanwhile.
//
// Formats "by 81234567 ms: CPU 5120 ms, main thread 4000 ms, data 40960 bytes, 1200 of them read,
// 300 written": the time by a clock of this machine; the CPU time of all threads and ended
// children, except NCCL's busy-waiting threads; the bytes read and written by files, pipes and TCP,
// and those by files and pipes alone. "": the process has ended. `sockets`: those of the process,
// by SocketsOf.
std::string WorkSoFar(pid_t pid, const std::unordered_set<uint64_t>& sockets,
                      const TcpTraffic& traffic);

// Returns a text about `pid` and every process below it: the kernel's data about each thread, its
// end of each connection ("connected at 10.0.0.3:4711 10.0.0.3:4712") unless it is a worker of a
// data loader or the like, and the stacks from py-spy (for Python) or gdb, whichever is in the
// rank's PATH. They stop the process meanwhile; one that ran before is resumed, however they end.
// There is a line for each other machine with retransmissions: "sent again to 10.0.0.3: 4 of 170
// segments, unanswered 2", where the last number is that of the oldest segment; and one for each
// destination that has not answered yet: "connecting to 10.0.0.3:5000: sent again 2 times".
// Printable UTF-8, about 1 MiB at most.
//
// Blocks: for about a minute at most, after which no more programs are started. Any thread may call
// it.
std::string ProcessStacks(pid_t pid, Supervisor& supervisor,
                          const process::Environment& rank_environment,
                          const StackOptions& options = {});

}  // namespace autodist::agent
