// Recognizes collectives by their frames. Pure logic.
#pragma once

#include <string>

#include "why/stack_frames.h"

namespace autodist::why {

// Returns the outermost collective of the thread, which is the one that the program called:
// "all-reduce", "barrier", or a function that waits for all ranks, such as "init_process_group".
// "": none.
std::string CollectiveOf(const ThreadStack& thread);
// The thread waits in a collective that its frames do not name.
bool AwaitsSomeCollective(const ThreadStack& thread);

// "an all-reduce", "a barrier", "init_process_group".
std::string WithArticle(const std::string& collective);
std::string WithThe(const std::string& collective);

}  // namespace autodist::why
