// Linked into a test of code that relies on it: as all our programs do, a process that a test runs
// in ignores SIGPIPE. What is written to may have ended.
#include <signal.h>

namespace autodist::test {

[[maybe_unused]] const auto kIgnored = signal(SIGPIPE, SIG_IGN);

}  // namespace autodist::test
