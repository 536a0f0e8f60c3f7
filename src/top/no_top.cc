// For a build without top (AUTODIST_TOP=OFF).
#include "top/top.h"

namespace autodist::top {
namespace {

Status LeftOut() {
  return WithRemedy(Error(StatusCode::kUnimplemented, "this build of autodist has no top"),
                    "build autodist with -D AUTODIST_TOP=ON");
}

}  // namespace

Result<int> ShowTop(const TopOptions&) { return LeftOut(); }

Result<std::string> TopOnce(const TopOptions&) { return LeftOut(); }

}  // namespace autodist::top
