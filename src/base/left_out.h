// The error of a part that CMake's options have left out of the build.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::base {

// `part`: "web page"; `option`: "AUTODIST_WEB". kUnimplemented.
inline Status LeftOut(const std::string& part, const std::string& option) {
  return WithRemedy(Error(StatusCode::kUnimplemented, "this build of autodist has no " + part),
                    "build autodist with -D " + option + "=ON");
}

}  // namespace autodist::base
