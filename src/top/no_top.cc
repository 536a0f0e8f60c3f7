// For a build without top (AUTODIST_TOP=OFF).
#include "base/left_out.h"
#include "top/top.h"

namespace autodist::top {

Result<int> ShowTop(const TopOptions&) { return base::LeftOut("top", "AUTODIST_TOP"); }

Result<std::string> TopOnce(const TopOptions&) { return base::LeftOut("top", "AUTODIST_TOP"); }

}  // namespace autodist::top
