"""A sum over all processes."""

import jax
import jax.numpy as jnp

jax.distributed.initialize()

process, processes = jax.process_index(), jax.process_count()
mine = jnp.full((jax.local_device_count(),), float(process))
total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(mine)
print(f"process {process} of {processes}: {jax.device_count()} devices, "
      f"the sum is {int(total[0])}", flush=True)
