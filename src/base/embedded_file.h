// Files that are embedded in a program (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace autodist::base {

struct EmbeddedFile {
  std::string_view name;  // "page.css"
  std::string_view content;
};

}  // namespace autodist::base
