// The files of the page, embedded.
#pragma once

#include "base/embedded_file.h"

namespace autodist::web {

std::span<const base::EmbeddedFile> PageFiles();

}  // namespace autodist::web
