# The front door: `make demo` shows it, `make check` tests it. Both install what they need.
.PHONY: packages programs demo check check-long check-frameworks bench

packages:
	@setup/packages.sh
	@setup/sources.sh build/deps

programs: packages
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target autodist autodist-agent bench-programs train_digits

demo: programs
	examples/virtual_cluster/virtual_cluster 3 --ranks 2 -- \
	  build/bin/autodist run --spec {spec} -- build/bin/train_digits

check: packages
	@setup/packages.sh check
	tests/check

# With minutes for the fuzzers and the soak, and with the frameworks.
check-long: packages
	@setup/packages.sh frameworks
	tests/check --long $(if $(FRAMEWORKS),--environments $(FRAMEWORKS))

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
