// Classifies what a process is doing, by its frames, their files, and the kernel's state, and
// recognizes collectives by their frames. Pure logic.
#pragma once

#include <string>

#include "why/rank_processes.h"
#include "why/stack_frames.h"

namespace autodist::why {

// Returns the outermost collective of the thread, which is the one that the program called:
// "all-reduce", "barrier", or a function that waits for all ranks, such as "init_process_group".
// "": none.
std::string CollectiveOf(const ThreadStack& thread);
// The collective that the frame is a function of; "": none.
std::string CollectiveIn(const StackFrame& frame, ThreadStack::Language language);
// The thread waits in a collective that its frames do not name.
bool AwaitsSomeCollective(const ThreadStack& thread);

// The thread is in a library with which ranks synchronize.
bool IsWithOthers(const ThreadStack& thread);

// Point-to-point operations, in which it is no error that others are elsewhere; also "".
bool IsOfTwo(const std::string& collective);

// "an all-reduce", "a barrier", "init_process_group".
std::string WithArticle(const std::string& collective);
std::string WithThe(const std::string& collective);

enum class Doing {
  kUnknown,
  kCollective,  // waits for other ranks
  kDataLoader,
  kFile,    // opens, reads or writes a file or pipe
  kSocket,  // waits at a socket that belongs to no collective
  kSleep,
  kLock,     // waits for a lock that another thread holds
  kWait,     // waits for a thread, a process or a lock; the frames do not say which
  kStopped,  // by a signal, a debugger, or the freezer of the control group
  kDisk,     // uninterruptible sleep
  kCompile,
  kCheckpoint,
  kCompute,
};

// Sets `collective` to the one that it waits in; "": none, or its frames do not say which.
Doing DoingOf(const RankProcess& process, std::string& collective);
// By the kernel's state alone.
Doing ByKernel(const RankProcess& process);

// Stopped by a signal, held by a debugger, or frozen with its control group.
bool IsStopped(const RankProcess& process);
bool IsFrozen(const RankProcess& process);

}  // namespace autodist::why
