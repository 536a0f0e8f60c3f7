// Throws an uncaught exception with the text of a CUDA error.
#include <cstdio>
#include <stdexcept>

int main() {
  for (int i = 0; i < 250; ++i) {
    std::fprintf(stderr, "node3:4711:4720 [0] NCCL INFO Channel %02d/250 : 0 1 2 3\n", i);
  }
  throw std::runtime_error("CUDA error: an illegal memory access was encountered");
}
