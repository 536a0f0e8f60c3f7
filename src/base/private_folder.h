// Folders that nobody but this user can enter.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

bool IsPrivateFolder(const std::string& path);

// Makes it where it is missing. /tmp is everybody's: a link, or somebody else's folder, that
// already has the name is refused, with this remedy.
Status MakePrivateFolder(const std::string& path, std::string_view remedy);

}  // namespace autodist::base
