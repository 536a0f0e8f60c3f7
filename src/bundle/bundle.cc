#include "bundle/bundle.h"

#include <zstd.h>

namespace autodist::bundle {
namespace {

constexpr int kQuickly = 3;  // zstd's level

Status Damaged(const std::string& how) {
  return WithRemedy(Error(StatusCode::kDataLoss, "a program inside autodist is damaged: " + how),
                    "copy autodist to this machine once more");
}

}  // namespace

Result<std::string> Unpack(const Program& program) {
  std::string content(program.size, '\0');
  const size_t size =
      ZSTD_decompress(content.data(), content.size(), program.packed.data(), program.packed.size());
  if (ZSTD_isError(size)) return Damaged(ZSTD_getErrorName(size));
  if (size != program.size) return Damaged("it has " + std::to_string(size) + " bytes");
  return content;
}

std::string Pack(std::string_view program) {
  std::string packed(ZSTD_compressBound(program.size()), '\0');
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), program.data(), program.size(), kQuickly);
  packed.resize(size);
  return packed;
}

}  // namespace autodist::bundle
