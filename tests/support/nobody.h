// An unprivileged user that every system has.
#pragma once

#include <sys/types.h>

namespace autodist::test {

inline constexpr uid_t kNobody = 65534;

}  // namespace autodist::test
