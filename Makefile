# The front door: `make demo` shows it, `make check` tests it. Both install what they need.
.PHONY: programs demo check check-frameworks bench

programs:
	@setup/packages.sh
	@setup/libssh2.sh build/deps
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target autodist autodist-agent autodist-horovod-store \
	  bench-programs train_digits

demo: programs
	examples/virtual_cluster/virtual_cluster 3 --ranks 2 -- \
	  build/bin/autodist run --spec {spec} -- build/bin/train_digits

check: programs
	@setup/packages.sh check
	cmake --build --preset release && ctest --preset release
	cmake --preset asan >/dev/null && cmake --build --preset asan && ctest --preset asan
	cmake --preset tsan >/dev/null && cmake --build --preset tsan && ctest --preset tsan
	tests/style

# PyTorch, PaddlePaddle, MindSpore, JAX, TensorFlow, ... from PyPI: 12 GB in build/frameworks, unless
# they are in $(FRAMEWORKS) already.
check-frameworks: programs
	@setup/packages.sh frameworks
	tests/cluster/frameworks/check $(if $(FRAMEWORKS),--environments $(FRAMEWORKS))

bench: programs
	@setup/packages.sh check
	tests/bench/launch
	tests/bench/faults
	tests/bench/collectives
