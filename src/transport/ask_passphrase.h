// Asking the person at the terminal for a passphrase.
#pragma once

#include <optional>
#include <string>

namespace autodist::transport {

// Fits AskPassphrase (key_file.h). Asks on the controlling terminal without showing what is typed,
// and blocks until it is answered, for some minutes at most. Nothing if there is no terminal, if we
// run in its background, or if the person ends the input. On Ctrl-C the process gets SIGINT as
// usual, once the terminal is as it was. For one thread at a time.
std::optional<std::string> AskPassphraseOnTerminal(const std::string& key_file, int attempt);

}  // namespace autodist::transport
