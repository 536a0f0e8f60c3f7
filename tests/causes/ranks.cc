// MPI ranks, one of which blocks: ranks CAUSE
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

std::mutex queue_lock, stats_lock;

void Drain(std::mutex& first, std::mutex& second) {
  const std::lock_guard one(first);
  sleep(1);
  const std::lock_guard other(second);
}

void Begins() {
  std::puts("begins");
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  const char* cause = argc > 1 ? argv[1] : "";
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0;; ++step) {
    usleep(50'000);
    if (step == 4 && rank == 2) {
      Begins();
      if (!std::strcmp(cause, "abba")) {
        std::thread other(Drain, std::ref(stats_lock), std::ref(queue_lock));
        Drain(queue_lock, stats_lock);
      }
      if (!std::strcmp(cause, "asleep")) sleep(1'000'000);
      if (!std::strcmp(cause, "tag")) {
        int value = 0;
        MPI_Recv(&value, 1, MPI_INT, 0, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    if (step == 4 && rank == 1 && !std::strcmp(cause, "barrier")) {
      Begins();
      MPI_Barrier(MPI_COMM_WORLD);
    }
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (step < 5) std::printf("step %d\n", step);
    std::fflush(stdout);
  }
}
