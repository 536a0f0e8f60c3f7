// The decompressor for uploads to nodes: `unpack N < FILE` writes the content of the zstd frame
// after the first N bytes of FILE to its standard output. Has no dependencies on the node.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

static char packed[1 << 17];
static char content[1 << 17];

static void Fail(const char* what, const char* why) {
  dprintf(STDERR_FILENO, "%s: %s\n", what, why);
  exit(1);
}

static void Write(const char* from, size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDOUT_FILENO, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail("writing it", strerror(errno));
    from += written;
    size -= (size_t)written;
  }
}

int main(int argc, char** argv) {
  if (argc != 2 || lseek(STDIN_FILENO, atol(argv[1]), SEEK_SET) < 0) {
    Fail("usage", "unpack BYTES_BEFORE < FILE");
  }
  ZSTD_DStream* stream = ZSTD_createDStream();
  size_t left = 1;  // 0: the frame is complete
  while (left != 0) {
    const ssize_t got = read(STDIN_FILENO, packed, sizeof packed);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Fail("reading it", strerror(errno));
    if (got == 0) Fail("unpacking it", "its end is missing");
    ZSTD_inBuffer in = {packed, (size_t)got, 0};
    while (left != 0 && in.pos < in.size) {
      ZSTD_outBuffer out = {content, sizeof content, 0};
      left = ZSTD_decompressStream(stream, &out, &in);
      if (ZSTD_isError(left)) Fail("unpacking it", ZSTD_getErrorName(left));
      Write(content, out.pos);
    }
  }
  // Guarantees the size after a power failure that follows the rename.
  if (fsync(STDOUT_FILENO) != 0 && errno != EINVAL) {
    Fail("writing it", strerror(errno));
  }
  return 0;
}
