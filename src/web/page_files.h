// The files of the page, as they travel inside autodist.
#pragma once

#include <span>
#include <string_view>

namespace autodist::web {

struct PageFile {
  std::string_view name;  // "page.css"
  std::string_view content;
};

std::span<const PageFile> PageFiles();

}  // namespace autodist::web
