// What samples of nodes say of networks that are slow or broken. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// An interface that counts errors, one that cannot send what it is given, or one that is slower
// than the others'. `before` may be null.
std::optional<v1::Trouble> NetworkCause(const v1::Board& now, const v1::Board* before);

}  // namespace autodist::why
