// Ignores SIGPIPE in the test's process, as all our programs do: a reader may have exited. Linked
// into tests of code that relies on it.
#include <signal.h>

namespace autodist::test {

[[maybe_unused]] const auto kIgnored = signal(SIGPIPE, SIG_IGN);

}  // namespace autodist::test
