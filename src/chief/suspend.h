// Ctrl-Z.
#pragma once

#include "chief/loop.h"
#include "chief/nodes/node_watch.h"

namespace autodist::chief {

// Stops all ranks, then this process, until it is continued; then them. On the loop's thread.
void Suspend(Loop& loop, NodeWatch& nodes);

v1::ChiefMessage SignalMessage(int signal);

}  // namespace autodist::chief
