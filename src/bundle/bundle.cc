#include "bundle/bundle.h"

#include <absl/strings/escaping.h>
#include <openssl/evp.h>
#include <zstd.h>

#include <array>
#include <memory>

namespace autodist::bundle {
namespace {

constexpr int kQuickly = 3;  // compression level of zstd

Status Damaged(const File& file, const std::string& how) {
  return WithRemedy(
      Error(StatusCode::kDataLoss, std::string(file.name) + " inside autodist is damaged: " + how),
      "copy autodist to this machine once more");
}

}  // namespace

std::string Sha256(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), size});
}

Result<std::string> Unpack(const File& file) {
  std::string base;
  if (file.base) {
    AD_ASSIGN_OR_RETURN(base, Unpack(*file.base));
  }
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  ZSTD_DCtx_refPrefix(context.get(), base.data(), base.size());
  std::string content(file.size, '\0');
  const size_t size = ZSTD_decompressDCtx(context.get(), content.data(), content.size(),
                                          file.packed.data(), file.packed.size());
  if (ZSTD_isError(size)) return Damaged(file, ZSTD_getErrorName(size));
  if (size != file.size) return Damaged(file, "it has " + std::to_string(size) + " bytes");
  if (Sha256(content) != file.sha256) return Damaged(file, "its SHA-256 is another");
  return content;
}

std::string Pack(std::string_view content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), kQuickly);
  packed.resize(size);
  return packed;
}

}  // namespace autodist::bundle
