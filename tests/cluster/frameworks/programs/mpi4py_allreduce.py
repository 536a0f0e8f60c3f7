"""A sum over all ranks; for mpirun."""

from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.Get_rank())
print(f"rank {world.Get_rank()} of {world.Get_size()}: the sum is {total}", flush=True)
