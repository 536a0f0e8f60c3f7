// The collectives that frames are of. Pure logic.
#pragma once

#include <string>

#include "why/stack_frames.h"

namespace autodist::why {

// "all-reduce", "barrier", or a name that is no operation's, as "init_process_group", which waits
// for all ranks, too. The outermost one that the thread is in: what a program has called. "": none.
std::string CollectiveOf(const ThreadStack& thread);
// The same thread waits for one of which the frames do not say which.
bool AwaitsSomeCollective(const ThreadStack& thread);

// "an all-reduce", "a barrier", "init_process_group".
std::string WithArticle(const std::string& collective);
std::string WithThe(const std::string& collective);

}  // namespace autodist::why
